// The hot path of an engine process: `[id] ggp-play COLOUR MOVE` and `[id] ggp-legal_moves` read from a descriptor and
// answered on another, for as long as nothing else comes. It knows no game and no Python; whatever it is not sure of it
// hands back unread.
#pragma once
#include <unistd.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <vector>

#include "game_state.hpp"

namespace ggp {

struct Played {
    int seat;
    Colour colour;  // that the seat held before the ply
    std::string move;
};

enum class FastPathEnd : std::uint8_t { other_input, end_of_input, nothing_now, interrupted };

// One FastPath serves one state. `input` is what ended it: bytes for the general way of answering. `unsent` is the part
// of an answer for which a descriptor that does not block had no room.
template <GameState S>
class FastPath {
public:
    std::vector<Played> played;
    std::string_view input, unsent;

    FastPath(S& state, int in, int out, std::size_t limit) : state_(state), in_(in), out_(out), limit_(limit) {}

    // Answers at most so many commands.
    FastPathEnd run(std::size_t commands) {
        for (; commands > 0; --commands) {
            const ssize_t count = ::read(in_, buffer_, sizeof buffer_);
            if (count < 0 && errno == EINTR) return FastPathEnd::interrupted;
            if (count < 0 && errno == EAGAIN) break;
            if (count <= 0) return FastPathEnd::end_of_input;
            input = std::string_view(buffer_, static_cast<std::size_t>(count));
            if (!play(input) && !list(input)) return FastPathEnd::other_input;
            if (!write_answer()) return FastPathEnd::end_of_input;  // the controller left
            if (!unsent.empty()) break;
        }
        return FastPathEnd::nothing_now;
    }

private:
    static constexpr std::size_t longest_move = 128, longest_id = 9;

    // One whole line in its plainest form, a legal move of the side to play: then it is played and answer_ is set.
    bool play(std::string_view line) {
        if (played.size() >= limit_ || state_.phase() == Phase::over) return false;
        const std::string_view id = take_id(line);
        if (!take(line, "ggp-play ") || line.empty() || line.back() != '\n') return false;
        const Colour colour = state_.to_play();
        if (!take(line, colour == Colour::black ? "black " : "white ")) return false;
        line.remove_suffix(1);
        if (line.empty() || line.size() > longest_move) return false;
        for (const char c : line)
            if (c <= ' ' || c == '#' || c >= 127) return false;
        const int seat = state_.seat();
        try {
            played.push_back({seat, colour, state_.play(line)});
        } catch (const IllegalMove&) {
            return false;  // nothing has changed; the general way says why
        }
        set_answer(id);
        return true;
    }

    // `ggp-legal_moves`, alone in its line: then answer_ is set.
    bool list(std::string_view line) {
        const std::string_view id = take_id(line);
        if (line != "ggp-legal_moves\n") return false;
        answer_.assign("=").append(id);
        for (const auto move : state_.legal_moves()) answer_.append(1, ' ').append(state_.text(move));
        answer_.append("\n\n");
        return true;
    }

    // The id without its blank; "" if there is none in its plainest form.
    static std::string_view take_id(std::string_view& line) {
        std::size_t digits = 0;
        while (digits < line.size() && digits <= longest_id && line[digits] >= '0' && line[digits] <= '9') ++digits;
        const std::string_view id = line.substr(0, digits);
        if (digits == 0 || digits > longest_id || id[0] == '0' || line.size() == digits || line[digits] != ' ') return "";
        line.remove_prefix(digits + 1);
        return id;
    }

    static bool take(std::string_view& line, std::string_view word) {
        if (!line.starts_with(word)) return false;
        line.remove_prefix(word.size());
        return true;
    }

    void set_answer(std::string_view id) {
        answer_.assign("=").append(id).append(" move=").append(played.back().move).append(" phase=");
        answer_.append(name(state_.phase())).append(" to_play=").append(name(state_.to_play()));
        answer_.append(" seat=").append(std::to_string(state_.seat()));
        answer_.append(" ply=").append(std::to_string(state_.ply()));
        if (state_.phase() == Phase::over) {
            answer_.append(" result=").append(state_.result());
            answer_.append(" winner=").append(std::to_string(state_.winner()));
        }
        answer_.append("\n\n");
    }

    bool write_answer() {
        for (unsent = answer_; !unsent.empty();) {
            const ssize_t count = ::write(out_, unsent.data(), unsent.size());
            if (count > 0) unsent.remove_prefix(static_cast<std::size_t>(count));
            else if (errno == EAGAIN) break;
            else if (errno != EINTR) return unsent = {}, false;
        }
        return true;
    }

    S& state_;
    int in_, out_;
    std::size_t limit_;
    std::string answer_;
    char buffer_[65536];
};

}  // namespace ggp
