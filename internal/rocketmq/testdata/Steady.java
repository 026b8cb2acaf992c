import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

/**
 * Sends messages to a topic until it is told to stop. It sets no name server: the address server named by the JVM's
 * options has to tell. Arguments: the topic, a name for its group, and a folder. A file that appears there asks for one
 * message to the topic of its name, tried until it succeeds; the file "stop" asks for the end.
 */
public class Steady {
    private static final long PAUSE_MILLIS = 20;
    private static final int ANSWER_MILLIS = 10_000; // the usual 3 s are short for a JVM that has just started on a busy machine

    public static void main(String[] arguments) throws Exception {
        String topic = arguments[0];
        Path wishes = Path.of(arguments[2]);
        DefaultMQProducer producer = new DefaultMQProducer("p-" + arguments[1]);
        producer.setSendMsgTimeout(ANSWER_MILLIS);
        producer.setMqClientApiTimeout(ANSWER_MILLIS);
        producer.start();
        Set<String> done = new HashSet<>();
        int sent = 0;
        int failed = 0;
        while (!Files.exists(wishes.resolve("stop"))) {
            String problem = send(producer, topic);
            if (problem == null) {
                sent++;
            } else {
                failed++;
                System.out.println("a message failed: " + problem);
            }
            if (sent == 1) {
                System.out.println("first message sent");
            }
            for (String wish : list(wishes)) {
                if (!done.contains(wish) && send(producer, wish) == null) {
                    done.add(wish);
                    System.out.println("sent to " + wish);
                }
            }
            TimeUnit.MILLISECONDS.sleep(PAUSE_MILLIS);
        }
        System.out.println("result: " + sent + " sent, " + failed + " failed");
        System.exit(0);
    }

    private static List<String> list(Path folder) throws Exception {
        try (Stream<Path> files = Files.list(folder)) {
            return files.map(file -> file.getFileName().toString()).collect(Collectors.toList());
        }
    }

    /** Sends one message and returns what went wrong, or null. */
    private static String send(DefaultMQProducer producer, String topic) throws InterruptedException {
        try {
            SendStatus status = producer.send(new Message(topic, "steady".getBytes(StandardCharsets.UTF_8))).getSendStatus();
            return status == SendStatus.SEND_OK ? null : status.toString();
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            return e.toString();
        }
    }
}
