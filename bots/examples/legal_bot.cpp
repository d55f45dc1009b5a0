// A whole bot in one C++17 file: it plays any legal move, in every game that an engine knows. It needs POSIX, no library.
//
//     build    c++ -std=c++17 -O2 -o legal_bot bots/examples/legal_bot.cpp
//     run      ./legal_bot ggp engine
//     match    ggp match yugo ./legal_bot random
//
// It starts the engine of the command line (without one: ggp engine) and keeps no board of its own: it
// passes on what it receives, and draws one of the moves that the engine lists. Replace choose() by something better.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <random>
#include <string>
#include <vector>

using Words = std::vector<std::string>;

const Words commands{"genmove", "ggp-games", "ggp-new",          "known_command", "list_commands",
                     "name",    "play",      "protocol_version", "quit",          "version"};
constexpr std::size_t longest = 65536;  // bytes of a line, without its end

// One of the legal moves: points, but also pass, swap-sides, bid:7 or dead: where the game asks for that.
std::string choose(const Words& moves) {
    static std::mt19937 random{std::random_device{}()};
    return moves[std::uniform_int_distribution<std::size_t>(0, moves.size() - 1)(random)];
}

struct Answer {
    bool done;  // = or ?
    std::string text;
};

std::string join(const Words& words, char between) {
    std::string line;
    for (const auto& word : words) line += (line.empty() ? "" : std::string(1, between)) + word;
    return line;
}

Words split(const std::string& line) {
    Words words;
    std::size_t end = 0;
    for (std::size_t begin; (begin = line.find_first_not_of(" \t", end)) != std::string::npos;) {
        end = std::min(line.find_first_of(" \t", begin), line.size());
        words.push_back(line.substr(begin, end - begin));
    }
    return words;
}

// The process that knows the rules; it ends when its input does, so it never outlives the bot.
class Engine {
  public:
    explicit Engine(Words command) {
        int in[2], out[2];
        if (pipe(in) != 0 || pipe(out) != 0 || (pid_ = fork()) < 0) fail("legal_bot");
        if (pid_ == 0) {
            dup2(in[0], 0), dup2(out[1], 1);
            for (int descriptor : {in[0], in[1], out[0], out[1]}) close(descriptor);
            std::vector<char*> arguments;
            for (auto& word : command) arguments.push_back(word.data());
            arguments.push_back(nullptr);
            execvp(arguments[0], arguments.data());
            std::perror(arguments[0]);
            _exit(127);
        }
        close(in[0]), close(out[1]);
        std::signal(SIGPIPE, SIG_IGN);  // an engine that is gone is noticed when we read
        to_ = fdopen(in[1], "w"), from_ = fdopen(out[0], "r");
    }
    Engine(const Engine&) = delete;
    ~Engine() {
        std::fclose(to_);
        waitpid(pid_, nullptr, 0);
    }

    // Its answer to one line: all up to an empty line.
    Answer ask(const std::string& line) {
        std::fprintf(to_, "%s\n", line.c_str());
        std::fflush(to_);
        std::string said;
        for (int c; said.size() < 2 || said.compare(said.size() - 2, 2, "\n\n") != 0; said += static_cast<char>(c))
            if ((c = std::getc(from_)) == EOF) {
                std::cerr << "the engine ended\n";
                std::_Exit(1);
            }
        said.resize(said.size() - 2);
        return {said[0] == '=', said.substr(said[1] == ' ' ? 2 : 1)};
    }

  private:
    [[noreturn]] static void fail(const char* what) {
        std::perror(what);
        std::_Exit(1);
    }

    pid_t pid_;
    std::FILE *to_, *from_;
};

Answer genmove(Engine& engine, const std::string& colour) {
    const Answer legal = engine.ask("ggp-legal_moves");
    if (!legal.done) return legal;
    if (legal.text.empty()) return {true, "pass"};  // the game is over
    const std::string move = choose(split(legal.text));
    const Answer played = engine.ask("ggp-play " + colour + " " + move);  // our own move is not sent to us
    return played.done ? Answer{true, move} : played;
}

Answer quietly(Answer answer) { return answer.done ? Answer{true, ""} : answer; }

bool is_command(const std::string& name) {
    return std::find(commands.begin(), commands.end(), name) != commands.end();
}

Answer obey(Engine& engine, const std::string& name, const Words& words) {
    if (name == "name") return {true, "Legal bot in C++"};
    if (name == "version") return {true, "1"};
    if (name == "protocol_version") return {true, "2"};
    if (name == "list_commands") return {true, join(commands, '\n')};
    if (name == "known_command") return {true, !words.empty() && is_command(words[0]) ? "true" : "false"};
    if (name == "genmove") return genmove(engine, join(words, ' '));
    if (name == "ggp-games") return engine.ask(name);
    if (name == "ggp-new") return quietly(engine.ask("ggp-new " + join(words, ' ')));
    if (name == "play") return quietly(engine.ask("ggp-play " + join(words, ' ')));
    if (name == "quit") return {true, ""};
    return {false, "unknown command"};
}

bool is_id(const std::string& word) {
    return word.size() <= 10 && word.find_first_not_of("0123456789") == std::string::npos && std::stoll(word) < 1LL << 31;
}

void answer(const std::string& id, const Answer& said) {
    std::cout << (said.done ? '=' : '?') << id << (said.text.empty() ? "" : " ") << said.text << "\n\n" << std::flush;
}

int main(int argc, char** argv) {
    Engine engine(argc > 1 ? Words(argv + 1, argv + argc) : Words{"ggp", "engine"});
    std::string name;
    for (std::string line; name != "quit" && std::getline(std::cin, line) && !std::cin.eof();) {
        if (line.size() > longest) {
            answer("", {false, "line too long"});
            continue;
        }
        const auto is_control = [](unsigned char c) { return (c < 32 && c != '\t') || c == 127; };
        line.erase(std::remove_if(line.begin(), line.end(), is_control), line.end());
        Words words = split(line.substr(0, line.find('#')));
        std::string id;
        if (words.size() > 1 && is_id(words[0])) {
            id = words[0];
            words.erase(words.begin());
        }
        if (words.empty()) continue;
        name = words[0];
        words.erase(words.begin());
        answer(id, obey(engine, name, words));
    }
}
