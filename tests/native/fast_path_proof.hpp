// The fast path of any game, spoken to through real pipes: what it answers and what it hands back.
#pragma once
#include <fcntl.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

#include "engines/core/fast_path.hpp"
#include "position.hpp"

namespace ggp::native {

// Two ends, closed with the object.
struct Pipe {
    std::array<int, 2> ends{-1, -1};

    Pipe() { require(::pipe(ends.data()) == 0, "pipe"); }
    ~Pipe() { close_reading(), close_writing(); }
    Pipe(const Pipe&) = delete;
    Pipe& operator=(const Pipe&) = delete;

    int reading() const { return ends[0]; }
    int writing() const { return ends[1]; }
    void close_reading() { close_end(0); }
    void close_writing() { close_end(1); }
    void write(const std::string& text) const {
        require(::write(writing(), text.data(), text.size()) == static_cast<ssize_t>(text.size()), "write");
    }
    std::string read_all() {
        close_writing();
        std::string all;
        std::array<char, 4096> buffer;
        for (ssize_t count; (count = ::read(reading(), buffer.data(), buffer.size())) > 0;)
            all.append(buffer.data(), static_cast<std::size_t>(count));
        return all;
    }

  private:
    void close_end(std::size_t end) {
        if (ends[end] >= 0) ::close(ends[end]);
        ends[end] = -1;
    }
};

// What a fast path on a copy of `state` does with one input, and what it answered.
struct Spoken {
    FastPathEnd end;
    std::string handed_back, answer, hash;
    std::size_t played;
};

template <GameState S>
Spoken speak(const S& state, const std::string& input, std::size_t limit = 1000, std::size_t commands = 1000) {
    S own = state;
    Pipe in, out;
    in.write(input);
    in.close_writing();
    FastPath<S> fast_path(own, in.reading(), out.writing(), limit);
    const FastPathEnd end = fast_path.run(commands);
    const std::string back = end == FastPathEnd::other_input ? std::string(fast_path.input) : "";
    return {end, back, out.read_all(), std::to_string(own.hash()), fast_path.played.size()};
}

// A legal move in each form, and what is none: answered exactly, or handed back with nothing changed.
template <GameState S>
void check_fast_path(const S& state, const std::string& move) {
    S after = state;
    after.play(move);
    const std::string colour = name(state.to_play()), ours = std::to_string(state.hash());
    std::string status = " move=" + move + " phase=" + name(after.phase()) + " to_play=" + name(after.to_play()) +
                         " seat=" + std::to_string(after.seat()) + " ply=" + std::to_string(after.ply());
    if (after.phase() == Phase::over)
        status += " result=" + after.result() + " winner=" + std::to_string(after.winner());
    for (const std::string id : {"", "7", "123456789"}) {
        const std::string blank = id.empty() ? "" : " ";
        const Spoken one = speak(state, id + blank + "ggp-play " + colour + " " + move + "\n");
        const bool fits = move.size() <= 128;
        require(one.end == (fits ? FastPathEnd::end_of_input : FastPathEnd::other_input), "the fast_path plays " + move);
        if (!fits) continue;
        require(one.answer == "=" + id + status + "\n\n", "the fast_path answers " + one.answer);
        require(one.played == 1 && one.hash == std::to_string(after.hash()), "the fast_path keeps the ply");
        const Spoken alone = speak(state, id + blank + "ggp-play " + colour + " " + move + "\n", 1000, 1);
        require(alone.end == FastPathEnd::nothing_now && alone.answer == one.answer, "the fast_path answers one command");
        const Spoken list = speak(state, id + blank + "ggp-legal_moves\n");
        const std::string all = joined(legal_texts(state));
        require(list.answer == "=" + id + (all.empty() ? "" : " " + all) + "\n\n", "the fast_path lists the legal moves");
    }
    const std::string enemy = name(other(state.to_play())), play = "ggp-play " + colour + " ";
    const std::vector<std::string> others = {
        "name\n", "5", "\n", "ggp-play\n", play + move, play + "\n", play + move + " \n", play + "#\n", play + "\x7f\n",
        play + "no-move\n", play + std::string(200, 'A') + "\n", "ggp-play " + enemy + " " + move + "\n",
        "007 " + play + move + "\n", "1234567890 " + play + move + "\n", "7" + play + move + "\n"};
    for (const std::string& line : others) {
        const Spoken one = speak(state, line);
        require(one.end == FastPathEnd::other_input && one.handed_back == line, "the fast_path must hand back " + line);
        require(one.answer.empty() && one.hash == ours && one.played == 0, "the fast_path answers what it hands back");
    }
    require(speak(state, play + move + "\n", 0).end == FastPathEnd::other_input, "the fast_path is full");
    require(speak(state, "").end == FastPathEnd::end_of_input, "end of input ends the fast_path");
    if (after.phase() == Phase::over)
        require(speak(after, play + move + "\n").end == FastPathEnd::other_input, "nothing is played after the end");
}

// Descriptors that do not block: nothing has come, and there is no room for the answer.
template <GameState S>
void check_fast_path_without_room(S state, const std::string& move) {
    Pipe in, out;
    for (const int end : {in.reading(), out.writing()}) ::fcntl(end, F_SETFL, O_NONBLOCK);
    FastPath<S> fast_path(state, in.reading(), out.writing(), 10);
    require(fast_path.run(10) == FastPathEnd::nothing_now && fast_path.unsent.empty(), "nothing has come");
    const std::string block(4096, '.');
    std::size_t filled = 0;
    for (ssize_t count; (count = ::write(out.writing(), block.data(), block.size())) > 0;)
        filled += static_cast<std::size_t>(count);
    in.write("ggp-play " + std::string(name(state.to_play())) + " " + move + "\n");
    require(fast_path.run(10) == FastPathEnd::nothing_now && fast_path.played.size() == 1, "the ply was played");
    require(fast_path.unsent.starts_with("= move=" + move) && fast_path.unsent.ends_with("\n\n"), "nothing was sent");
    require(out.read_all().size() == filled, "the pipe holds what it held");
}

// A signal while it waits, and a controller that has left.
template <GameState S>
void check_fast_path_interrupted(S state, const std::string& move) {
    struct sigaction rings {}, before {};
    rings.sa_handler = [](int) {};  // without SA_RESTART: read() returns EINTR
    ::sigaction(SIGALRM, &rings, &before);
    const auto pipe_before = std::signal(SIGPIPE, SIG_IGN);
    Pipe in, out;
    FastPath<S> fast_path(state, in.reading(), out.writing(), 10);
    const itimerval soon{{0, 2000}, {0, 2000}}, never{};  // again and again: the first may come before read() waits
    ::setitimer(ITIMER_REAL, &soon, nullptr);
    const FastPathEnd end = fast_path.run(1000);
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before, nullptr);
    require(end == FastPathEnd::interrupted, "a signal interrupts the fast_path");
    out.close_reading();
    in.write("ggp-play " + std::string(name(state.to_play())) + " " + move + "\n");
    require(fast_path.run(1000) == FastPathEnd::end_of_input, "a controller that left ends the fast_path");
    require(fast_path.played.size() == 1, "the ply was played all the same");
    std::signal(SIGPIPE, pipe_before);
}

}  // namespace ggp::native
