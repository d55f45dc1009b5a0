// Stigmergy (Steve Metzger and Luis Bolaños Mures): territory by lines of sight, and a bid for komi.
// The rules: docs/reference/games/stigmergy.md.
#pragma once
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "decimal.hpp"
#include "game_state.hpp"
#include "hexagon.hpp"
#include "opening.hpp"
#include "stigmergy_visibility.hpp"
#include "zobrist.hpp"

namespace ggp {

// There is always a legal move: a side that may not pass can take the button or has an empty uncontrolled cell.
// A game cannot be drawn: in the end each of the N cells is a point of one side, and N is odd, so the margin is odd with an
// even komi, and even with an odd one, when the button has been taken.
// A move is a Cell, one of the constants, or first_bid + k.
class Stigmergy : public GameBase<Stigmergy, std::int16_t> {
  public:
    static constexpr Move pass = -1, button_move = -2, keep_sides = -3, swap_sides = -4, first_bid = 1000;
    static constexpr std::size_t keys = max_hexagon_cells + 1;

    // Without a komi it is bid. Throws std::invalid_argument if an option is out of its domain.
    Stigmergy(int size, std::optional<std::int64_t> komi);

    Phase phase() const { return phase_; }
    Colour to_play() const { return phase_ == Phase::over ? Colour::none : side_; }
    int seat() const { return seats_.of(to_play()); }
    int ply() const { return ply_; }
    int size() const { return hexagon_.side(); }
    int cells() const { return hexagon_.cells(); }
    Colour leader() const;
    int winner() const { return phase_ == Phase::over ? seats_.of(leader()) : 0; }
    std::string result() const;
    std::uint64_t hash() const;
    std::string board() const;    // .XO
    std::string control() const;  // the same for who controls each cell, empty or not
    std::vector<std::string> last_move() const;
    std::pair<int, int> captured() const { return {replaced_[0], replaced_[1]}; }  // black stones, white stones
    Score score() const;
    Colour button() const { return button_; }
    std::optional<std::int64_t> komi() const { return komi_; }  // none: no bid is made yet

    Move read(std::string_view text) const;  // throws IllegalMove
    void list_moves(std::vector<Move>& moves) const;
    std::string_view text(Move move) const;
    void apply(Move move);
    std::uint16_t key(Move move) const {
        return static_cast<std::uint16_t>(move >= 0 && move < first_bid ? move + 1 : 0);
    }
    // It wins no point at once: rollouts play no such cell.
    bool unlikely(Move move) const { return move >= 0 && move < first_bid && !(gainful(move >> 6) >> (move & 63) & 1); }
    Move play_random(Rng& rng, Policy policy) {
        const Move move = draw(rng, policy);
        apply(move);
        return move;
    }

    // Begins with that board (as board() writes it) and side. Before ply 0, with a fixed komi; std::invalid_argument.
    void set_up(std::string_view cells, Colour side);

  private:
    static constexpr std::uint64_t seed = 0x53746967;  // sets the hashes of this game apart
    static constexpr auto zobrist = zobrist_keys<2, max_hexagon_cells>(seed);

    // Points by colour.
    struct Count {
        std::array<int, 2> stones{}, controlled{};
    };
    Move read_bid(std::string_view text) const;
    void check_pass() const;
    void check_button() const;
    void check_cell(Cell cell) const;
    int highest_bid() const { return cells() + 1; }
    bool button_used() const { return komi_ && *komi_ % 2 != 0; }
    bool button_waits() const { return button_used() && button_ == Colour::none; }
    Move draw(Rng& rng, Policy policy) const;
    std::uint64_t playable(int word) const;
    std::uint64_t gainful(int word) const;
    std::uint64_t uncontrolled(int word) const;
    bool may_pass() const;
    Point point(Cell cell) const { return hexagon_.by_name()[static_cast<std::size_t>(cell)]; }
    const std::string& name(Cell cell) const { return hexagon_.name(point(cell)); }
    Count count() const;
    std::int64_t twice_margin() const;

    Hexagon hexagon_;
    Visibility visibility_;
    bool bidding_;  // the option
    std::optional<std::int64_t> komi_;
    Phase phase_;
    Colour side_ = Colour::black, button_ = Colour::none;
    Seats seats_;
    std::uint8_t passes_ = 0;
    Cell last_ = -1;
    int ply_ = 0;
    std::array<int, 2> replaced_{};
};

inline Stigmergy::Stigmergy(int size, std::optional<std::int64_t> komi)
    : hexagon_(checked_side(size)), visibility_(size), bidding_(!komi), komi_(komi),
      phase_(bidding_ ? Phase::bid : Phase::play) {
    constexpr std::int64_t most = 1'000'000;  // as of all options
    if (komi && (*komi < -most || *komi > most))
        throw std::invalid_argument("komi must be an integer from -1000000 to 1000000, or none: it is bid");
}

inline void Stigmergy::set_up(std::string_view cells, Colour side) {
    if (ply_ != 0 || phase_ != Phase::play)
        throw std::invalid_argument("a position is set up before the first move, with a fixed komi");
    Visibility visibility(size());
    const auto& cell_of = VisibilityLines::of(size())->cell_of;
    read_board(hexagon_, ".XO", cells, [&](Point p, std::size_t kind) {
        if (kind != 0) visibility.put(cell_of[p], static_cast<Colour>(kind));
    });
    visibility_ = visibility, side_ = side;
}

// The cells where the side to play may place or replace.
inline std::uint64_t Stigmergy::playable(int word) const {
    const Colour enemy = other(side_);
    return (visibility_.empty(word) & ~visibility_.controlled(word, enemy)) |
           (visibility_.stones(word, enemy) & visibility_.controlled(word, side_));
}

// Those of them that win a point at once.
inline std::uint64_t Stigmergy::gainful(int word) const {
    return playable(word) & ~(visibility_.empty(word) & visibility_.controlled(word, side_));
}

// The empty uncontrolled cells.
inline std::uint64_t Stigmergy::uncontrolled(int word) const {
    return visibility_.empty(word) & ~(visibility_.controlled(word, Colour::black) | visibility_.controlled(word, Colour::white));
}

inline bool Stigmergy::may_pass() const {
    if (button_waits()) return false;
    std::uint64_t left = 0;
    for (int w = 0; w < visibility_.words(); ++w) left |= uncontrolled(w);
    return left == 0;
}

inline Stigmergy::Move Stigmergy::read_bid(std::string_view text) const {
    const std::string_view digits = text.substr(4);
    int bid = digits.empty() || digits.size() > 3 || (digits[0] == '0' && digits.size() > 1) ? -1 : 0;
    for (const char c : digits) bid = bid < 0 || c < '0' || c > '9' ? -1 : bid * 10 + (c - '0');
    if (bid < 0 || bid > highest_bid())
        throw IllegalMove("bid an integer from 0 to " + std::to_string(highest_bid()) + ", written like bid:7");
    return static_cast<Move>(first_bid + bid);
}

inline Stigmergy::Move Stigmergy::read(std::string_view text) const {
    const bool bids = is_word(text.substr(0, 4), "bid:"), swaps = is_word(text, "swap-sides");
    if (phase_ == Phase::over) throw IllegalMove("the game is over");
    if (is_word(text, "resign")) throw IllegalMove("resign is an answer to genmove, not a move");
    if (phase_ == Phase::bid) {
        if (bids) return read_bid(text);
        throw IllegalMove("komi is not settled: bid an integer from 0 to " + std::to_string(highest_bid()) +
                          ", written like bid:7");
    }
    if (bids) throw IllegalMove("komi is settled: it is " + std::to_string(*komi_));
    if (phase_ == Phase::choose) {
        if (swaps || is_word(text, "keep-sides")) return swaps ? swap_sides : keep_sides;
        throw IllegalMove("the bid is " + std::to_string(*komi_) + ": answer swap-sides or keep-sides");
    }
    if (swaps || is_word(text, "keep-sides")) throw IllegalMove("the sides are settled");
    if (is_word(text, "button")) return check_button(), button_move;
    if (is_word(text, "pass")) return check_pass(), pass;
    const Cell cell = VisibilityLines::of(size())->cell_of[hexagon_.parse(text)];
    check_cell(cell);
    return cell;
}

inline void Stigmergy::check_button() const {
    if (!button_used()) throw IllegalMove("komi is even: there is no button");
    if (!button_waits()) throw IllegalMove("the button is taken");
}

inline void Stigmergy::check_pass() const {
    constexpr int most = 5;  // cells that the reason names
    if (button_waits()) throw IllegalMove("the button must be taken before a pass");
    if (may_pass()) return;
    std::string names;
    int left = 0;
    for (Cell cell = 0; cell < cells(); ++cell)
        if ((uncontrolled(cell >> 6) >> (cell & 63) & 1) != 0 && ++left <= most) names += name(cell) + " ";
    if (left > most) names += "and " + std::to_string(left - most) + " more ";
    throw IllegalMove(names + (left == 1 ? "is empty and uncontrolled: fill or control it before you pass"
                                         : "are empty and uncontrolled: fill or control them before you pass"));
}

inline void Stigmergy::check_cell(Cell cell) const {
    const Colour stone = visibility_.stone(cell), control = visibility_.control(cell), enemy = other(side_);
    if (stone == Colour::none && control == enemy)
        throw IllegalMove(name(cell) + " is controlled by " + ggp::name(enemy));
    if (stone == side_) throw IllegalMove(name(cell) + " holds your own stone");
    if (stone == enemy && control != side_) {
        throw IllegalMove("you do not control " + name(cell) + ": it sees " + std::to_string(visibility_.seen(cell, side_)) +
                          " of your stones and needs " + std::to_string(visibility_.needed(cell)));
    }
}

inline void Stigmergy::apply(Move move) {
    ++ply_;
    last_ = -1;
    if (move >= 0 && move < first_bid) {
        const Colour enemy = other(side_);
        replaced_[enemy == Colour::white] += visibility_.stone(move) == enemy;
        visibility_.put(move, side_);
        last_ = move;
        passes_ = 0;
        side_ = enemy;
    } else if (move == pass) {
        side_ = other(side_);
        if (++passes_ == 2) phase_ = Phase::over;
    } else if (move == button_move) {
        button_ = side_;
        side_ = other(side_);
    } else if (move >= first_bid) {
        komi_ = move - first_bid;
        phase_ = Phase::choose;
        side_ = Colour::white;
    } else {
        if (move == swap_sides) seats_.swap();
        phase_ = Phase::play;
        side_ = Colour::black;
    }
}

// Uniform over the set and the one token that may be legal, the button or a pass: the two exclude each other.
inline Stigmergy::Move Stigmergy::draw(Rng& rng, Policy policy) const {
    if (phase_ == Phase::bid) return static_cast<Move>(first_bid + static_cast<int>(rng.below(highest_bid() + 1)));
    if (phase_ == Phase::choose) return rng.below(2) == 0 ? keep_sides : swap_sides;
    std::array<std::uint64_t, max_cell_words> sets, running;
    std::uint32_t size = 0;
    std::uint64_t left = 0;
    for (std::size_t w = 0; w < static_cast<std::size_t>(visibility_.words()); ++w) {
        const int word = static_cast<int>(w);
        sets[w] = policy == Policy::uniform ? playable(word) : gainful(word);
        running[w] = running_bits(sets[w]);
        size += static_cast<std::uint32_t>(running[w] >> 56);
        left |= uncontrolled(word);
    }
    const bool waits = button_waits();
    const bool token = policy == Policy::uniform ? waits || left == 0 : size == 0;  // if nothing gains, nothing is left
    std::uint32_t k = rng.below(size + token);
    if (k >= size) return waits ? button_move : pass;
    std::size_t w = 0;
    for (; k >= running[w] >> 56; ++w) k -= static_cast<std::uint32_t>(running[w] >> 56);
    return static_cast<Move>(static_cast<int>(w) * 64 + place_of_bit(sets[w], running[w], k));
}

inline void Stigmergy::list_moves(std::vector<Move>& moves) const {
    if (phase_ == Phase::over) return;
    if (phase_ == Phase::choose) {
        moves.push_back(keep_sides);
        return moves.push_back(swap_sides);
    }
    if (phase_ == Phase::bid) {
        moves.push_back(first_bid);
        for (int bid = 1, left = highest_bid(); left > 0; --left) {  // 1 10 100 101 .. 11 110 ..
            moves.push_back(static_cast<Move>(first_bid + bid));
            if (bid * 10 <= highest_bid()) {
                bid *= 10;
                continue;
            }
            while (bid % 10 == 9 || bid == highest_bid()) bid /= 10;
            ++bid;
        }
        return;
    }
    for (int word = 0; word < visibility_.words(); ++word)
        for (std::uint64_t set = playable(word); set != 0; set &= set - 1)
            moves.push_back(static_cast<Move>(word * 64 + std::countr_zero(set)));
    if (button_waits()) moves.push_back(button_move);
    else if (may_pass()) moves.push_back(pass);
}

inline std::string_view Stigmergy::text(Move move) const {
    static const auto bids = [] {
        std::array<std::string, max_hexagon_cells + 2> texts;
        for (std::size_t k = 0; k < texts.size(); ++k) texts[k] = "bid:" + std::to_string(k);
        return texts;
    }();
    if (move >= first_bid) return bids[static_cast<std::size_t>(move - first_bid)];
    if (move >= 0) return name(move);
    constexpr std::string_view words[] = {"", "pass", "button", "keep-sides", "swap-sides"};
    return words[-move];
}

inline Stigmergy::Count Stigmergy::count() const {
    Count count;
    for (const Colour colour : {Colour::black, Colour::white})
        for (int word = 0; word < visibility_.words(); ++word) {
            const auto i = static_cast<std::size_t>(colour == Colour::white);
            count.stones[i] += bits_in(visibility_.stones(word, colour));
            count.controlled[i] += bits_in(visibility_.empty(word) & visibility_.controlled(word, colour));
        }
    return count;
}

// Twice Black's score less White's, everything counted.
inline std::int64_t Stigmergy::twice_margin() const {
    const Count c = count();
    return 2 * (c.stones[0] + c.controlled[0] - c.stones[1] - c.controlled[1] - komi_.value_or(0)) +
           (button_ == Colour::black) - (button_ == Colour::white);
}

inline Colour Stigmergy::leader() const {
    const std::int64_t margin = twice_margin();
    return margin > 0 ? Colour::black : margin < 0 ? Colour::white : Colour::none;
}

inline std::string Stigmergy::result() const {
    if (phase_ != Phase::over) return "";
    const std::int64_t margin = twice_margin();
    return (margin > 0 ? "B+" : "W+") + decimal(static_cast<double>(std::abs(margin)) / 2, 1);
}

inline Score Stigmergy::score() const {
    const Count c = count();
    const auto parts = [&](Colour colour) {
        const auto i = static_cast<std::size_t>(colour == Colour::white);
        return ScoreParts{{}, {{"stones", c.stones[i]}, {"controlled", c.controlled[i]},
                               {"button", button_ == colour ? 0.5 : 0}}, {}};
    };
    Score score{parts(Colour::black), parts(Colour::white)};
    score.white.parts.emplace_back("komi", static_cast<double>(komi_.value_or(0)));
    score.black.add_up(), score.white.add_up();
    return score;
}

inline std::uint64_t Stigmergy::hash() const {
    std::uint64_t board = 0;
    for (Cell cell = 0; cell < cells(); ++cell)
        if (const Colour stone = visibility_.stone(cell); stone != Colour::none)
            board ^= zobrist[stone == Colour::white][static_cast<std::size_t>(cell)];
    Digest digest(board ^ seed);
    digest.add(static_cast<std::uint64_t>(size()) | std::uint64_t{bidding_} << 8 | std::uint64_t{komi_.has_value()} << 9);
    digest.add(static_cast<std::uint64_t>(komi_.value_or(0)));
    digest.add(static_cast<std::uint64_t>(phase_) | static_cast<std::uint64_t>(to_play()) << 8 |
               static_cast<std::uint64_t>(button_) << 16 | std::uint64_t{passes_} << 24 |
               std::uint64_t{seats_.swapped()} << 32);
    return digest.value();
}

inline std::string Stigmergy::board() const {
    const auto& cell_of = VisibilityLines::of(size())->cell_of;
    return write_board(hexagon_, ".XO", [&](Point p) { return visibility_.stone(cell_of[p]); });
}

inline std::string Stigmergy::control() const {
    const auto& cell_of = VisibilityLines::of(size())->cell_of;
    return write_board(hexagon_, ".XO", [&](Point p) { return visibility_.control(cell_of[p]); });
}

inline std::vector<std::string> Stigmergy::last_move() const {
    return last_ < 0 ? std::vector<std::string>{} : std::vector<std::string>{name(last_)};
}

static_assert(GameState<Stigmergy>);

}  // namespace ggp
