// Taugo (Saïd Gadwen, 2023): strings of stones that run, cut and reach for the edge.
// The rules: docs/reference/games/taugo.md.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bits.hpp"
#include "decimal.hpp"
#include "game_state.hpp"
#include "opening.hpp"
#include "square.hpp"
#include "taugo_board.hpp"
#include "taugo_line.hpp"
#include "taugo_move_errors.hpp"
#include "taugo_texts.hpp"
#include "zobrist.hpp"

namespace ggp {

// A single stone may stand wherever it makes no knot: with a friend beside it, it grows from that friend, without one it
// is new. So a move is either one such point, or a run of two and more, which has one text and one stone it grows from.
class Taugo : public GameBase<Taugo, taugo::Run> {
  public:
    static constexpr std::size_t keys = 5 * max_edge * max_edge;
    enum class CutFrom : std::uint8_t { lateral, any };

    // Throws std::invalid_argument if an option is out of its domain.
    Taugo(int size, CutFrom cut_from, bool pie);

    Phase phase() const { return turns_.phase(); }
    Colour to_play() const { return turns_.to_play(); }
    int seat() const { return turns_.seat(); }
    int ply() const { return ply_; }
    int size() const { return board_.edge(); }
    int cells() const { return size() * size() - 4; }
    Colour leader() const;
    int winner() const { return phase() == Phase::over ? turns_.seat_of(leader()) : 0; }
    std::string result() const;
    std::uint64_t hash() const;
    std::string board() const;  // X black, O white, ? the corners
    std::vector<std::string> last_move() const;
    std::pair<int, int> captured() const { return {replaced_[0], replaced_[1]}; }  // black stones, white stones
    Score score() const;

    Move read(std::string_view text) const;  // throws IllegalMove
    void list_moves(std::vector<Move>& moves) const;
    std::string_view text(Move move) const { return texts_->of(move); }
    void apply(Move move);
    // One stone by its point, a run by where it stops and from which side it comes there. No corner is a point, so 0 is
    // free.
    std::uint16_t key(Move move) const {
        if (move.length == 0) return 0;
        const auto [column, row] = move.point(move.length - 1);
        const int way = move.length == 1 ? 0 : 1 + static_cast<int>(move.way);
        return static_cast<std::uint16_t>((way * max_edge + row) * max_edge + column);
    }
    Move play_random(Rng& rng, Policy policy);

    // Begins with that board (as board() writes it) and side, the opening over. Before ply 0; std::invalid_argument.
    void set_up(std::string_view cells, Colour side);

  private:
    static constexpr std::uint64_t seed = 0x546175676f;  // sets the hashes of this game apart
    static constexpr auto zobrist = zobrist_keys<2, max_area>(seed);

    // How many moves lie in each row and column, for one colour: counted again, when they are needed, only in lines that
    // have changed or lie beside one that has. A row counts its single stones too.
    struct Counts {
        std::array<std::array<std::uint16_t, max_edge>, 2> moves{};
        std::array<taugo::Bits, 2> stale{~taugo::Bits{0}, ~taugo::Bits{0}};
        std::uint32_t total = 0;
    };

    bool legal(Move run) const;
    taugo::Line line(taugo::Axis axis, int number) const {
        return {board_, axis, number, to_play(), cut_from_ == CutFrom::any};
    }
    void touch(Move run, Colour side, bool cut);
    void count_again(Counts& counts) const;
    Move pick(const Counts& counts, std::uint32_t index) const;
    int reach(Move run) const;
    std::pair<int, int> twice_points(Colour colour) const;  // strings and edge stones, doubled; the number of strings
    int twice_margin() const;

    Square square_;
    const taugo::Texts* texts_;
    taugo::Board board_;
    PieTurns turns_;
    CutFrom cut_from_;
    bool pie_;
    Move last_ = taugo::pass;
    int ply_ = 0;
    std::array<int, 2> replaced_{};
    std::array<Counts, 2> counts_;
};

inline Taugo::Taugo(int size, CutFrom cut_from, bool pie)
    : square_(size >= 6 && size <= max_edge ? size : throw std::invalid_argument("size must be 6..25")),
      texts_(&taugo::Texts::of(size)), board_(size), turns_(pie), cut_from_(cut_from), pie_(pie) {}

inline void Taugo::set_up(std::string_view cells, Colour side) {
    const auto edge = static_cast<std::size_t>(size());
    if (ply_ != 0) throw std::invalid_argument("a position is set up before the first move");
    if (cells.size() != edge * edge) throw std::invalid_argument("a board has size * size characters");
    taugo::Board board(size());
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const auto column = static_cast<std::uint8_t>(i % edge), row = static_cast<std::uint8_t>(edge - 1 - i / edge);
        if (std::string_view(".XO?").find(cells[i]) == std::string_view::npos)
            throw std::invalid_argument("a board is written with .XO and ? for the corners");
        if (board.is_corner(column, row) != (cells[i] == '?'))
            throw std::invalid_argument(square_.name(square_.at(column, row)) +
                                        (cells[i] == '?' ? " is no corner" : " is a corner, written ?"));
        if (cells[i] == 'X' || cells[i] == 'O')
            board.put({taugo::Way::east, row, column, 1}, cells[i] == 'X' ? Colour::black : Colour::white);
    }
    for (const Colour colour : {Colour::black, Colour::white})
        for (int row = 0; row < size() - 1; ++row)
            for (int column = 0; column < size() - 1; ++column)
                if (board.knot(colour, column, row))
                    throw std::invalid_argument(taugo::knot_at(square_, column, row));
    board_ = board;
    turns_.set_up(side);
    counts_ = {};
}

inline Taugo::Move Taugo::read(std::string_view text) const {
    const PieTurns::Word word = turns_.read(text);
    if (word != PieTurns::Word::none) return word == PieTurns::Word::pass ? taugo::pass : taugo::swap_sides;
    const Move run = taugo::read_run(text, square_, board_);
    if (legal(run)) return run;
    throw IllegalMove(taugo::MoveErrors(square_, board_, to_play(), cut_from_ == CutFrom::any, run).why_not());
}

inline bool Taugo::legal(Move run) const {
    if (!(board_.inner() >> run.line & board_.inner() >> run.first & 1)) return false;  // the first point is inner
    const taugo::Line line = this->line(axis_of(run.way), run.line);
    if (run.length == 1) return line.singles() >> run.first & 1;
    const int last = run.at(run.length - 1), stop = step_of(run.way) > 0 ? last : 32 + board_.opposite(last);
    return line.stops() >> stop & 1 && line.length(stop) == run.length;
}

inline void Taugo::apply(Move move) {
    ++ply_;
    last_ = move;
    if (move == taugo::pass) return turns_.passed();
    if (move == taugo::swap_sides) return turns_.swapped();
    const Colour side = to_play();
    const int replaced = board_.put(move, side);
    replaced_[other(side) == Colour::black ? 0 : 1] += replaced;
    touch(move, side, replaced != 0);
    turns_.moved();
}

// A stone changes what can be done in its own row and column and, by knots and degrees, at times in those beside them.
// Between the points of a run all lines across it are its own; so there are four to look at, or all after a cut.
inline void Taugo::touch(Move run, Colour side, bool cut) {
    const taugo::Axis axis = axis_of(run.way), cross = across(axis);
    const taugo::Bits bits = run.bits(), bit = taugo::Bits{1} << run.line;
    const auto along = static_cast<std::size_t>(axis), athwart = static_cast<std::size_t>(cross);
    for (Counts& counts : counts_) {
        counts.stale[along] |= cut ? bit << 1 | bit | bit >> 1 : bit;
        counts.stale[athwart] |= cut ? bits << 1 | bits | bits >> 1 : bits;
    }
    if (cut) return;
    Counts& mine = counts_[side == Colour::black ? 0 : 1];
    Counts& theirs = counts_[side == Colour::black ? 1 : 0];
    const auto look = [&](taugo::Axis of, int line, int beside, taugo::Bits filled) {
        const auto i = static_cast<std::size_t>(of);
        mine.stale[i] |= taugo::Bits{taugo::felt_by_own(board_, of, line, beside, side, filled)} << beside;
        theirs.stale[i] |= taugo::Bits{taugo::felt_by_enemy(board_, of, beside, side, filled)} << beside;
    };
    const int low = std::countr_zero(bits), high = low + run.length - 1;
    look(axis, run.line, run.line - 1, bits);
    look(axis, run.line, run.line + 1, bits);
    look(cross, low, low - 1, bit);
    look(cross, high, high + 1, bit);
}

inline void Taugo::count_again(Counts& counts) const {
    for (const taugo::Axis axis : {taugo::Axis::row, taugo::Axis::column}) {
        const auto i = static_cast<std::size_t>(axis);
        for (taugo::Bits left = counts.stale[i] & board_.inner(); left != 0; left &= left - 1) {
            const int number = std::countr_zero(left);
            const taugo::Line line = this->line(axis, number);
            const int moves = bits_in(line.stops()) + (axis == taugo::Axis::row ? bits_in(line.singles()) : 0);
            auto& before = counts.moves[i][static_cast<std::size_t>(number)];
            counts.total += static_cast<std::uint32_t>(moves) - before;
            before = static_cast<std::uint16_t>(moves);
        }
        counts.stale[i] = 0;
    }
}

// rollout: of two random moves the one that reaches further, a pass only where there is no other.
inline Taugo::Move Taugo::play_random(Rng& rng, Policy policy) {
    Counts& counts = counts_[to_play() == Colour::black ? 0 : 1];
    count_again(counts);
    std::uint32_t words = std::uint32_t{turns_.may_pass()} + std::uint32_t{turns_.may_swap()};
    if (policy == Policy::rollout && counts.total > 0) words = 0;
    const std::uint32_t index = rng.below(counts.total + words);
    Move move = index < counts.total ? pick(counts, index)
                : index == counts.total ? taugo::pass : taugo::swap_sides;
    if (policy == Policy::rollout && counts.total > 0)
        if (const Move second = pick(counts, rng.below(counts.total)); reach(second) > reach(move)) move = second;
    apply(move);
    return move;
}

// The points that a run fills, those beside the edge twice: there strings count.
inline int Taugo::reach(Move run) const {
    const int last = size() - 2;
    const taugo::Bits beside_edge = run.line == 1 || run.line == last ? ~taugo::Bits{0} : 2 | taugo::Bits{1} << last;
    return run.length + bits_in(run.bits() & beside_edge);
}

// The move of that number, the rows' first.
inline Taugo::Move Taugo::pick(const Counts& counts, std::uint32_t index) const {
    std::size_t axis = 0, number = 1;
    while (index >= counts.moves[axis][number]) {
        index -= counts.moves[axis][number];
        if (++number == static_cast<std::size_t>(size() - 1)) axis = 1, number = 1;
    }
    const auto place = static_cast<std::uint8_t>(number);
    const taugo::Line line = this->line(static_cast<taugo::Axis>(axis), place);
    const auto kth = [](std::uint64_t bits, std::uint32_t k) { return place_of_bit(bits, running_bits(bits), k); };
    if (axis == 0) {
        const auto singles = static_cast<std::uint32_t>(bits_in(line.singles()));
        if (index < singles) return {taugo::Way::east, place, static_cast<std::uint8_t>(kth(line.singles(), index)), 1};
        index -= singles;
    }
    const int stop = kth(line.stops(), index), length = line.length(stop);
    const bool up = stop < 32;
    const int first = up ? stop - length + 1 : board_.opposite(stop - 32 - length + 1);
    const taugo::Way way = axis == 0 ? (up ? taugo::Way::east : taugo::Way::west)
                                     : (up ? taugo::Way::north : taugo::Way::south);
    return {way, place, static_cast<std::uint8_t>(first), static_cast<std::uint8_t>(length)};
}

// Bytewise: '+' comes before the digits, so a move comes before the moves that go on from it, and all that begin with
// A1 before those that begin with A10. From one point: west, then south and north, then east; but 10 comes before 8.
inline void Taugo::list_moves(std::vector<Move>& moves) const {
    if (phase() == Phase::over) return;
    std::array<taugo::Line, max_edge> rows, columns;
    for (int i = 1; i < size() - 1; ++i) {
        rows[static_cast<std::size_t>(i)] = line(taugo::Axis::row, i);
        columns[static_cast<std::size_t>(i)] = line(taugo::Axis::column, i);
    }
    for (const Point p : square_.by_name()) {
        const int column = square_.column(p), row = square_.row(p);
        if (!board_.is_inner(column, row)) continue;
        const auto x = static_cast<std::uint8_t>(column), y = static_cast<std::uint8_t>(row);
        const taugo::Line& across = rows[y];
        const taugo::Line& up = columns[x];
        if (across.singles() >> column & 1) moves.push_back({taugo::Way::east, y, x, 1});
        const auto go = [&]<int Step>(taugo::Way way, const taugo::Line& line, std::uint8_t number, std::uint8_t first) {
            if (!(line.mine() >> (first - Step) & 1)) return;
            std::uint8_t length = 1;
            for (int at = Step > 0 ? first : 32 + board_.opposite(first);
                 at % 32 < size() && !(line.mine() >> at & 1); ++at, ++length)
                if (line.stops() >> at & 1) moves.push_back({way, number, first, length});
        };
        const bool north_first = row == 8 || row == 9;
        go.operator()<-1>(taugo::Way::west, across, y, x);
        if (north_first) go.operator()<1>(taugo::Way::north, up, x, y);
        go.operator()<-1>(taugo::Way::south, up, x, y);
        if (!north_first) go.operator()<1>(taugo::Way::north, up, x, y);
        go.operator()<1>(taugo::Way::east, across, y, x);
    }
    if (turns_.may_pass()) moves.push_back(taugo::pass);
    if (turns_.may_swap()) moves.push_back(taugo::swap_sides);
}

inline std::pair<int, int> Taugo::twice_points(Colour colour) const {
    const int edge_stones = board_.edge_stones(colour);
    int strings = 0, points = edge_stones * (edge_stones + 1);
    board_.each_string(colour, [&](int perimeter) { ++strings, points += perimeter * (perimeter + 1); });
    return {points, strings};
}

// Twice Black's score less White's.
inline int Taugo::twice_margin() const {
    const auto [black, black_strings] = twice_points(Colour::black);
    const auto [white, white_strings] = twice_points(Colour::white);
    return black - white + (black_strings < white_strings) - (white_strings < black_strings);
}

inline Colour Taugo::leader() const {
    const int margin = twice_margin();
    return margin > 0 ? Colour::black : margin < 0 ? Colour::white : Colour::none;
}

inline std::string Taugo::result() const {
    if (phase() != Phase::over) return "";
    const int margin = twice_margin();
    return margin == 0 ? "0" : (margin > 0 ? "B+" : "W+") + decimal(std::abs(margin) / 2.0, 1);
}

inline Score Taugo::score() const {
    std::array<std::vector<int>, 2> values;
    std::array<ScoreParts, 2> scores;
    for (const Colour colour : {Colour::black, Colour::white}) {
        std::vector<int>& all = values[colour == Colour::black ? 0 : 1];
        board_.each_string(colour, [&](int perimeter) { all.push_back(perimeter * (perimeter + 1) / 2); });
        std::sort(all.begin(), all.end(), std::greater<>());
    }
    for (const Colour colour : {Colour::black, Colour::white}) {
        const std::size_t i = colour == Colour::black ? 0 : 1;
        const int edge_stones = board_.edge_stones(colour);
        int strings = 0;
        for (const int value : values[i]) strings += value;
        scores[i].parts.emplace_back("string_points", strings);
        scores[i].parts.emplace_back("edge_points", edge_stones * (edge_stones + 1) / 2);
        scores[i].parts.emplace_back("fewer_strings", values[i].size() < values[1 - i].size() ? 0.5 : 0);
        scores[i].lists.emplace_back("string_values", values[i]);
        scores[i].add_up();
    }
    return {scores[0], scores[1]};
}

// Who passed first is left out: no rule of this game depends on it.
inline std::uint64_t Taugo::hash() const {
    std::uint64_t board = 0;
    for (const Point p : square_.by_name()) {
        const Colour colour = board_.at(square_.column(p), square_.row(p));
        if (colour != Colour::none) board ^= zobrist[colour == Colour::black ? 0 : 1][p];
    }
    Digest digest(board ^ seed);
    digest.add(static_cast<std::uint64_t>(size()) | static_cast<std::uint64_t>(cut_from_) << 8 |
               std::uint64_t{pie_} << 16);
    digest.add(static_cast<std::uint64_t>(phase()) | static_cast<std::uint64_t>(to_play()) << 8 |
               static_cast<std::uint64_t>(turns_.passes()) << 16 |
               static_cast<std::uint64_t>(turns_.seat_of(Colour::black)) << 24 |
               std::uint64_t{turns_.first_stone()} << 32 | std::uint64_t{turns_.may_swap()} << 33);
    return digest.value();
}

inline std::string Taugo::board() const {
    std::string cells;
    for (int row = size() - 1; row >= 0; --row)
        for (int column = 0; column < size(); ++column)
            cells += board_.is_corner(column, row) ? '?' : ".XO"[static_cast<int>(board_.at(column, row))];
    return cells;
}

inline std::vector<std::string> Taugo::last_move() const {
    std::vector<std::string> names;
    for (int i = 0; i < last_.length; ++i) {
        const auto [column, row] = last_.point(i);
        names.push_back(square_.name(square_.at(column, row)));
    }
    return names;
}

static_assert(GameState<Taugo>);

}  // namespace ggp
