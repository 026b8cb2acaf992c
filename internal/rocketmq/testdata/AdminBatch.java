import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs many mqadmin commands in one JVM. The file named by the only argument has one command a line: how many
 * milliseconds it may take, then its arguments, all separated by tabs. What a command prints comes out when it has
 * ended, and then a line with the character U+0001. A command that takes too long is interrupted; some never end by
 * themselves.
 */
public class AdminBatch {
    private static final long INTERRUPTED_MILLIS = 15_000;
    private static final long HURRY_MILLIS = 50;

    public static void main(String[] arguments) throws Exception {
        PrintStream out = System.out;
        for (String line : Files.readAllLines(Path.of(arguments[0]))) {
            String[] parts = line.split("\t");
            ByteArrayOutputStream said = new ByteArrayOutputStream();
            PrintStream capture = new PrintStream(said, true, StandardCharsets.UTF_8);
            System.setOut(capture);
            System.setErr(capture);
            Commands.forget();
            String[] command = Arrays.copyOfRange(parts, 1, parts.length);
            Thread thread = new Thread(() -> MQAdminStartup.main(command), "command");
            thread.start();
            long end = System.currentTimeMillis() + Long.parseLong(parts[0]);
            while (thread.isAlive() && System.currentTimeMillis() < end) {
                thread.join(HURRY_MILLIS);
                hurry();
            }
            capture.flush();
            out.write(said.toByteArray());
            out.print("\n\u0001\n");
            out.flush();
            if (thread.isAlive()) {
                thread.interrupt();
                thread.join(INTERRUPTED_MILLIS); // what it still prints is not wanted
            }
        }
        System.exit(0); // threads of interrupted commands would keep the JVM alive
    }

    /**
     * Wakes the threads that hand on what happens to connections. They look whether they are to end every three seconds
     * only, and each command waits for that at its end; otherwise waking them does nothing.
     */
    private static void hurry() {
        Thread[] all = new Thread[Thread.activeCount() + 16];
        int count = Thread.enumerate(all);
        for (int i = 0; i < count; i++) {
            if (all[i].getName().startsWith("NettyEventExecutor")) {
                all[i].interrupt();
            }
        }
    }

    /** The list of commands, to which each run adds new ones; some of the old ones keep their connections. */
    private static class Commands extends MQAdminStartup {
        static void forget() {
            SUB_COMMANDS.clear();
        }
    }
}
