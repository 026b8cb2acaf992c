import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sends messages to a topic and consumes them. Arguments: the name servers, the topic, a name for the groups, and how
 * many messages. It ends with 0 when all came back.
 */
public class Messages {
    private static final long PATIENCE_MILLIS = 60_000;
    private static final int ANSWER_MILLIS = 10_000; // the usual 3 s are short for a JVM that has just started on a busy machine

    public static void main(String[] arguments) throws Exception {
        String nameServers = arguments[0];
        String topic = arguments[1];
        String name = arguments[2];
        Set<String> missing = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < Integer.parseInt(arguments[3]); i++) {
            missing.add(name + "-" + i);
        }
        try {
            send(nameServers, topic, name, List.copyOf(missing));
            consume(nameServers, topic, name, missing);
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(1); // threads of the client would keep the JVM alive
        }
        System.out.println(missing.isEmpty() ? "all consumed" : missing.size() + " messages did not come back");
        System.exit(missing.isEmpty() ? 0 : 1);
    }

    private static void send(String nameServers, String topic, String name, List<String> bodies) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("p-" + name);
        producer.setNamesrvAddr(nameServers);
        producer.setSendMsgTimeout(ANSWER_MILLIS);
        producer.setMqClientApiTimeout(ANSWER_MILLIS);
        producer.start();
        for (String body : bodies) {
            SendResult result = producer.send(new Message(topic, body.getBytes(StandardCharsets.UTF_8)));
            if (result.getSendStatus() != SendStatus.SEND_OK) {
                throw new IllegalStateException("message " + body + ": " + result);
            }
        }
        producer.shutdown();
        System.out.println("all sent");
    }

    private static void consume(String nameServers, String topic, String name, Set<String> missing) throws Exception {
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("c-" + name);
        consumer.setNamesrvAddr(nameServers);
        consumer.setMqClientApiTimeout(ANSWER_MILLIS);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (MessageExt message : messages) {
                missing.remove(new String(message.getBody(), StandardCharsets.UTF_8));
            }
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        long end = System.currentTimeMillis() + PATIENCE_MILLIS;
        while (!missing.isEmpty() && System.currentTimeMillis() < end) {
            TimeUnit.MILLISECONDS.sleep(20);
        }
        consumer.shutdown();
    }
}
