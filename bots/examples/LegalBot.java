// A whole bot in one Java file: it plays any legal move, in every game that an engine knows. It needs Java 17.
//
//     build    javac -d . bots/examples/LegalBot.java
//     run      java LegalBot ggp engine
//     match    ggp match yugo "java LegalBot" random
//
// It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
// passes on what it receives, and draws one of the moves that the engine lists. Replace choose() by something better.

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import java.io.BufferedInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

public final class LegalBot {
    private static final List<String> COMMANDS = List.of("genmove", "ggp-games", "ggp-new", "known_command",
            "list_commands", "name", "play", "protocol_version", "quit", "version");
    private static final int LONGEST = 65536; // bytes of a line, without its end

    private final Random chance = new Random();
    private final Engine engine;

    private LegalBot(Engine engine) {
        this.engine = engine;
    }

    /** One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that. */
    private String choose(List<String> moves) {
        return moves.get(chance.nextInt(moves.size()));
    }

    /** Whether a command was obeyed, = or ?, and the text. */
    private record Answer(boolean done, String text) {
        Answer quietly() {
            return done ? new Answer(true, "") : this;
        }

        String framed(String id) {
            return (done ? "=" : "?") + id + (text.isEmpty() ? "" : " ") + text + "\n\n";
        }
    }

    /** Reads lines of bytes: a line that the end of the input cuts is none. */
    private record Lines(InputStream input) {
        /** The next line without its end, or null; of one that is too long the beginning, one byte longer than it may be. */
        String next(int longest) throws IOException {
            StringBuilder line = new StringBuilder();
            for (int c; (c = input.read()) != '\n';) {
                if (c < 0) return null;
                if (line.length() <= longest) line.append((char) c);
            }
            return line.toString();
        }
    }

    /** The process that knows the rules; it ends when its input does, so it never outlives the bot. */
    private static final class Engine {
        private final Process process;
        private final OutputStream to;
        private final Lines from;

        Engine(List<String> command) throws IOException {
            process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
            to = process.getOutputStream();
            from = new Lines(new BufferedInputStream(process.getInputStream()));
        }

        /** Its answer to one line: all up to an empty line. */
        Answer ask(String line) throws IOException {
            to.write((line + "\n").getBytes(ISO_8859_1));
            to.flush();
            StringBuilder said = new StringBuilder();
            for (String read; (read = from.next(1 << 20)) == null || !read.isEmpty();) {
                if (read == null) throw new IOException("the engine ended");
                said.append(said.isEmpty() ? "" : "\n").append(read);
            }
            return new Answer(said.charAt(0) == '=', said.substring(1).strip());
        }

        void close() throws IOException, InterruptedException {
            to.close();
            process.waitFor();
        }
    }

    private Answer genmove(String colour) throws IOException {
        Answer legal = engine.ask("ggp-legal_moves");
        if (!legal.done()) return legal;
        if (legal.text().isEmpty()) return new Answer(true, "pass"); // the game is over
        String move = choose(List.of(legal.text().split(" ")));
        Answer played = engine.ask("ggp-play " + colour + " " + move); // our own move is not sent to us
        return played.done() ? new Answer(true, move) : played;
    }

    private Answer obey(String name, List<String> words) throws IOException {
        String arguments = String.join(" ", words);
        return switch (name) {
            case "name" -> new Answer(true, "Legal bot in Java");
            case "version" -> new Answer(true, "1");
            case "protocol_version" -> new Answer(true, "2");
            case "list_commands" -> new Answer(true, String.join("\n", COMMANDS));
            case "known_command" -> new Answer(true, "" + (!words.isEmpty() && COMMANDS.contains(words.get(0))));
            case "genmove" -> genmove(arguments);
            case "ggp-games" -> engine.ask(name);
            case "ggp-new" -> engine.ask("ggp-new " + arguments).quietly();
            case "play" -> engine.ask("ggp-play " + arguments).quietly();
            case "quit" -> new Answer(true, "");
            default -> new Answer(false, "unknown command");
        };
    }

    private static boolean isId(String word) {
        return word.matches("[0-9]{1,10}") && Long.parseLong(word) < 1L << 31;
    }

    private void converse() throws IOException {
        Lines input = new Lines(new BufferedInputStream(System.in));
        PrintStream output = new PrintStream(System.out, false, ISO_8859_1);
        for (String line, name = ""; !name.equals("quit") && (line = input.next(LONGEST)) != null;) {
            Answer answer = new Answer(false, "line too long");
            String id = "";
            if (line.length() <= LONGEST) {
                String text = line.replaceAll("(?s)[\\x00-\\x08\\x0a-\\x1f\\x7f]|#.*", "").replace('\t', ' ');
                List<String> words = Arrays.stream(text.split(" ")).filter(word -> !word.isEmpty()).toList();
                if (words.size() > 1 && isId(words.get(0))) {
                    id = words.get(0);
                    words = words.subList(1, words.size());
                }
                if (words.isEmpty()) continue;
                name = words.get(0);
                answer = obey(name, words.subList(1, words.size()));
            }
            output.print(answer.framed(id));
            output.flush();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Engine engine = new Engine(arguments.length > 0 ? List.of(arguments) : List.of("ggp", "engine"));
        new LegalBot(engine).converse();
        engine.close();
    }
}
