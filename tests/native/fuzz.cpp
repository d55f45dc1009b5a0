// libFuzzer's target for one game: bytes are options, legal moves by number, texts, boards. Built with -include of a
// subject and -DSUBJECT=go_subject; what a position must be is what the walks prove.
#include <cstddef>
#include <cstdint>
#include <string>

#include "position.hpp"
#include "walk.hpp"

namespace ggp::native {

namespace {

inline constexpr int most_plies = 400;

// What is left of the input; zeros after its end.
class Bytes {
  public:
    Bytes(const std::uint8_t* data, std::size_t size) : data_(data), left_(size) {}

    bool empty() const { return left_ == 0; }
    std::uint8_t next() {
        if (left_ == 0) return 0;
        --left_;
        return *data_++;
    }
    std::size_t below(std::size_t n) { return (static_cast<std::size_t>(next()) << 8 | next()) % n; }
    std::string text(std::size_t most) {
        std::string text;
        for (std::size_t length = below(most + 1); length > 0 && !empty(); --length)
            text += static_cast<char>(next());
        return text;
    }

  private:
    const std::uint8_t* data_;
    std::size_t left_;
};

// A board of the game's letters, or of anything: refused, or sound.
template <GameState S>
void set_up(S& state, Bytes& bytes, const std::string& letters) {
    S other = state;
    std::string cells = bytes.next() % 8 == 0 ? bytes.text(100) : other.board();
    if (!letters.empty() && !cells.empty())
        for (std::size_t changes = bytes.below(30); changes > 0; --changes)
            cells[bytes.below(cells.size())] = letters[bytes.below(letters.size())];
    try {
        other.set_up(cells, bytes.next() % 2 == 0 ? Colour::black : Colour::white);
    } catch (const std::invalid_argument&) {
        require(look(other) == look(state), "a refused set_up changed something");
        return;
    }
    state = other;
}

template <GameState S>
void play(const Subject<S>& subject, Bytes& bytes) {
    S state = subject.settings[bytes.below(subject.settings.size())].start;
    for (int ply = 0; ply < most_plies && !bytes.empty(); ++ply) {
        const auto legal = legal_texts(state);
        check_status(state, legal);
        audit(state);
        const std::uint8_t what = bytes.next();
        if (what < 24) {
            set_up(state, bytes, subject.letters);
        } else if (what < 64) {
            const std::string text = bytes.text(60);
            if (check_text(state, legal, text)) state.play(text);
        } else if (what < 72) {
            std::string text = legal.empty() ? "pass" : legal[bytes.below(legal.size())];
            text[bytes.below(text.size())] = static_cast<char>(bytes.next());
            if (check_text(state, legal, text)) state.play(text);
        } else if (legal.empty()) {
            return;
        } else if (what < 80) {
            Rng rng(bytes.next());
            check_random(state, legal, rng, what % 2 == 0 ? Policy::uniform : Policy::rollout);
            state.play_random(rng, Policy::uniform);
        } else {
            const auto move = state.legal_moves()[bytes.below(legal.size())];
            if (what < 128) check_move(state, legal, move);
            state.apply(move);
        }
    }
}

}  // namespace

}  // namespace ggp::native

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const auto subject = ggp::native::SUBJECT();
    ggp::native::Bytes bytes(data, size);
    ggp::native::play(subject, bytes);
    return 0;
}
