// Taigo (Néstor Romeral Andrés): two-coloured tiles on an unbounded hex lattice, cones in the holes, five in a row.
// The rules: docs/reference/games/taigo.md.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "taigo_holes.hpp"
#include "taigo_lattice.hpp"
#include "taigo_move_priors.hpp"
#include "taigo_parsing.hpp"
#include "taigo_text.hpp"
#include "zobrist.hpp"

namespace ggp {

// A cell that a tile makes a hole lies beside the tile, and no hole is made by filling another: so all that a turn
// changes is found round its tile. A hole that stays open can be filled by nothing, because a tile needs two cells.
class Taigo : public GameBase<Taigo, TaigoMove> {
  public:
    static constexpr int row = 5;            // that wins
    static constexpr std::size_t keys = 6 * 32 * 32;
    static constexpr int set_up_reach = 100;  // a set up cell's largest coordinate; the tiles then stay on the lattice

    // Throws std::invalid_argument if an option is out of its domain.
    Taigo(int dark_cones, int light_cones, int tiles);

    Phase phase() const { return over_ ? Phase::over : Phase::play; }
    Colour to_play() const { return over_ ? Colour::none : side_; }
    int seat() const { return static_cast<int>(to_play()); }  // seat 1 is black throughout
    int ply() const { return ply_; }
    int size() const { return 51; }  // the width of the view that GTP's boardsize speaks of
    int cells() const { return 2 * tiles_; }
    // Lines alone count, the opponent of the last mover before the mover.
    Colour leader() const { return five_[side_] ? side_ : five_[other(side_)] ? other(side_) : Colour::none; }
    int winner() const { return over_ ? static_cast<int>(leader()) : 0; }
    std::string result() const;
    std::uint64_t hash() const;
    std::string board() const;  // "0,0=X 1,0=O", ascending; X O tile halves, x o cones
    std::vector<std::string> last_move() const;  // dark half, light half, cones ascending
    std::pair<int, int> captured() const { return {0, 0}; }
    Score score() const;
    std::pair<int, int> cones_left() const { return {supply_[Colour::black], supply_[Colour::white]}; }
    int tiles_left() const { return tiles_ - 1 - ply_; }
    std::vector<std::pair<std::string, std::string>> tiles() const;  // dark half, light half; none of a set up board

    Move read(std::string_view text) const;  // throws IllegalMove
    void list_moves(std::vector<Move>& moves) const;
    MoveText text(const Move& move) const { return move_text(move); }
    void apply(const Move& move);
    // The tile, whatever cones come with it. Tiles that are 32 cells apart share a key, and hardly a game.
    std::uint16_t key(const Move& move) const {
        const int cell = (move.dark.q & 31) << 5 | (move.dark.r & 31);
        return static_cast<std::uint16_t>(move.direction << 10 | cell);
    }
    // The winner by the lines that the move completes, or none.
    Colour decides(const Move& move);
    // Priors of the moves of this position: see TaigoMovePriors.
    TaigoMovePriors move_priors() { return {lattice_, side_}; }
    Move play_random(Rng& rng, Policy policy);

    // Begins with that board (as board() writes it, in any order) and side. Before ply 0; std::invalid_argument.
    void set_up(std::string_view board, Colour side);

  private:
    static constexpr std::uint64_t seed = 0x546169676f;  // sets the hashes of this game apart

    void list(const Move& move, std::vector<Move>& moves) const;
    Move draw(Rng& rng) const;
    int longest_line(Colour colour) const;

    int tiles_, dark_cones_, light_cones_;
    Lattice lattice_;
    Supply supply_{};
    ByColour<bool> five_{};  // who has such a line
    Colour side_ = Colour::black;
    bool over_ = false;
    int ply_ = 0;
    std::size_t set_up_ = 0, last_ = 0;  // the first pieces of the game's and of the last ply's own
};

inline Taigo::Taigo(int dark_cones, int light_cones, int tiles)
    : tiles_(tiles), dark_cones_(dark_cones), light_cones_(light_cones) {
    if (dark_cones < 0 || dark_cones > 20) throw std::invalid_argument("dark_cones must be 0..20");
    if (light_cones < 0 || light_cones > 20) throw std::invalid_argument("light_cones must be 0..20");
    if (tiles < 2 || tiles > 200) throw std::invalid_argument("tiles must be 2..200");
    supply_[Colour::black] = dark_cones, supply_[Colour::white] = light_cones;
    lattice_.put({{0, 0}, Colour::black, false});
    lattice_.put({{1, 0}, Colour::white, false});
    last_ = 2;
}

inline void Taigo::set_up(std::string_view board, Colour side) {
    if (ply_ != 0) throw std::invalid_argument("a position is set up before the first move");
    Lattice lattice;
    ByColour<bool> five{};
    for (std::size_t end = 0; !board.empty(); board.remove_prefix(std::min(end + 1, board.size()))) {
        end = std::min(board.find(' '), board.size());
        std::string_view word = board.substr(0, end);
        if (word.empty()) continue;
        Axial at{};
        std::size_t kind = 4;
        try {
            at = taigo_parsing::take_cell(word);
            if (word.size() == 2 && word[0] == '=') kind = std::string_view("XOxo").find(word[1]);
        } catch (const taigo_parsing::Unreadable&) {  // it speaks of moves
        }
        if (kind > 3) throw std::invalid_argument("a board is written like 0,0=X 1,0=O, cones x and o");
        if (std::abs(at.q) > set_up_reach || std::abs(at.r) > set_up_reach)
            throw std::invalid_argument(cell_name(at) + " is too far away: boards lie within 100 of 0,0");
        if (lattice.at(at).colour != Colour::none) throw std::invalid_argument(cell_name(at) + " is named twice");
        lattice.put({at, kind % 2 == 0 ? Colour::black : Colour::white, kind > 1});
    }
    if (lattice.pieces().empty()) throw std::invalid_argument("a board has at least one occupied cell");
    for (const auto& piece : lattice.pieces())
        if (lattice.line(lattice.place(piece.at)) >= row) five[piece.colour] = true;
    lattice_ = std::move(lattice), five_ = five, side_ = side;
    set_up_ = last_ = lattice_.pieces().size();
}

inline void Taigo::apply(const Move& move) {
    last_ = lattice_.pieces().size();
    lattice_.put({move.dark, Colour::black, false});
    lattice_.put({move.light(), Colour::white, false});
    for (std::size_t i = 0; move.cones != 0 && i < 8; ++i)
        if (const Colour colour = move.cone(i); colour != Colour::none) {
            lattice_.put({move.cone_at(i), colour, true});
            --supply_[colour];
        }
    for (std::size_t i = last_; i < lattice_.pieces().size(); ++i) {
        const Lattice::Piece& piece = lattice_.pieces()[i];
        if (lattice_.line(lattice_.place(piece.at)) >= row) five_[piece.colour] = true;
    }
    ++ply_;
    side_ = other(side_);
    over_ = leader() != Colour::none || tiles_left() == 0;
}

// A superset is drawn from, and what does not belong is drawn again. It has twelve tiles for each cell of the frontier
// (it is the dark or the light half, six directions), of which those that cover no gap belong, and for each gap twelve
// tiles times as many fillings as a tile can have here. Then every move is drawn in exactly one way.
inline Taigo::Move Taigo::draw(Rng& rng) const {
    const auto& frontier = lattice_.frontier();
    std::uint32_t most = 1;  // fillings
    for (int holes = 1; holes <= std::min(lattice_.closable(), most_holes); ++holes)
        most = std::max<std::uint32_t>(most, supply_.fillings(holes).count);
    const auto cells = static_cast<std::uint32_t>(frontier.size()), gaps = static_cast<std::uint32_t>(lattice_.gaps());
    for (;;) {
        const std::uint32_t drawn = rng.below(12 * (cells + gaps * most)), index = drawn / 12;
        const bool on_gap = index >= cells;
        const Lattice::Place place = frontier[on_gap ? (index - cells) / most : index];
        const auto direction = static_cast<std::uint8_t>(drawn % 12 / 2);
        const Lattice::Cell& first = lattice_[place];
        const Lattice::Cell& second = lattice_[place + lattice_.step(direction)];
        if (second.colour != Colour::none) continue;
        // Two gaps, or two cells of the frontier, are met from both of them: one way counts.
        if (direction >= 3 && (on_gap ? second.gaps : second.beside) != 0) continue;
        const Axial at = lattice_.axial(place);
        const auto back = static_cast<std::uint8_t>((direction + 3) % 6);
        const Move move = drawn % 2 == 0 ? Move{at, direction} : Move{at + axial_steps[direction], back};
        if (!on_gap) {
            if ((first.gaps | second.gaps) == 0) return move;
            continue;
        }
        const std::uint32_t way = (index - cells) % most;
        if (way >= 1U << std::min(first.gaps + second.gaps, most_holes)) continue;  // spares a look at the ring
        const Holes holes = holes_of(lattice_, move);
        const Fillings& ways = supply_.fillings(holes.count);
        if (way < ways.count) return holes.filled(move, ways.ways[way]);
    }
}

// rollout: the first of four random moves that wins at once, else the first of them that does not lose at once.
inline Taigo::Move Taigo::play_random(Rng& rng, Policy policy) {
    Move move = draw(rng);
    if (policy == Policy::rollout) {
        Colour winner = decides(move);
        for (int more = 3; more > 0 && winner != side_; --more) {
            const Move next = draw(rng);
            const Colour then = decides(next);
            if (then == side_ || winner == other(side_)) move = next, winner = then;
        }
    }
    apply(move);
    return move;
}

// Who has won by the lines that the move completes.
inline Colour Taigo::decides(const Move& move) {
    ByColour<bool> five{};
    for (const Painted painted(lattice_, move); const Lattice::Place p : painted)
        if (lattice_.line(p) >= row) five[lattice_[p].colour] = true;
    return five[other(side_)] ? other(side_) : five[side_] ? side_ : Colour::none;
}

// Dark cells in the order of their texts, round each the light ones in the order of theirs: that is the order of the
// moves, because what follows a cell in a text ('/', '+') sorts before digits.
inline void Taigo::list_moves(std::vector<Move>& moves) const {
    if (over_) return;
    const Axial low = lattice_.low(), high = lattice_.high();
    std::array<std::int16_t, 2 * Decimals::half> columns, rows;
    const std::int16_t* const last_column = decimal_texts.sorted(low.q - 2, high.q + 2, columns.data());
    const std::int16_t* const last_row = decimal_texts.sorted(low.r - 2, high.r + 2, rows.data());
    for (const std::int16_t* q = columns.data(); q != last_column; ++q)
        for (const std::int16_t* r = rows.data(); r != last_row; ++r) {
            const Axial dark{*q, *r};
            const Lattice::Place place = lattice_.place(dark);
            const Lattice::Cell& cell = lattice_[place];
            if (cell.colour != Colour::none) continue;
            for (const std::uint8_t direction : decimal_texts.directions(dark)) {
                const Lattice::Cell& light = lattice_[place + lattice_.step(direction)];
                if (light.colour == Colour::none && (cell.beside | light.beside) != 0) list({dark, direction}, moves);
            }
        }
}

// All the moves with that tile, in the order of their texts.
inline void Taigo::list(const Move& move, std::vector<Move>& moves) const {
    const Holes holes = holes_of(lattice_, move);
    if (holes.count == 0) return moves.push_back(move);
    const Fillings& fillings = supply_.fillings(holes.count);
    for (std::uint8_t i = 0; i < fillings.count; ++i) moves.push_back(holes.filled(move, fillings.ways[i]));
    if (fillings.count < 2 || supply_.all() >= holes.count) return;
    std::sort(moves.end() - fillings.count, moves.end(), [](const Move& a, const Move& b) {  // cones in other cells
        return std::string_view(move_text(a)) < std::string_view(move_text(b));
    });
}

inline Taigo::Move Taigo::read(std::string_view text) const {
    if (over_) throw IllegalMove("the game is over");
    if (is_word(text, "pass")) throw IllegalMove("pass is not a move of taigo: every turn places a tile");
    if (is_word(text, "resign")) throw IllegalMove("resign is an answer to genmove, not a move");
    return read_taigo_move(lattice_, supply_, text);
}

inline std::string Taigo::result() const {
    if (!over_) return "";
    return leader() == Colour::none ? "0" : leader() == Colour::black ? "B+" : "W+";
}

inline int Taigo::longest_line(Colour colour) const {
    int longest = 0;
    for (const auto& piece : lattice_.pieces())
        if (piece.colour == colour) longest = std::max(longest, lattice_.line(lattice_.place(piece.at)));
    return longest;
}

inline Score Taigo::score() const {
    const auto parts = [this](Colour colour) {
        return ScoreParts{{}, {{"longest_line", longest_line(colour)}, {"cones_left", supply_[colour]}}, {}};
    };
    return {parts(Colour::black), parts(Colour::white)};
}

inline std::uint64_t Taigo::hash() const {
    std::uint64_t board = 0;
    for (const auto& [at, colour, cone] : lattice_.pieces()) {
        const auto cell = static_cast<std::uint64_t>((at.q + 512) * 1024 + at.r + 512);
        board ^= mix64(seed + 0x9e3779b97f4a7c15ULL * (2 * cell + static_cast<std::uint64_t>(colour)));
    }
    Digest digest(board ^ seed);
    digest.add(static_cast<std::uint64_t>(tiles_) << 16 | static_cast<std::uint64_t>(dark_cones_) << 8 |
               static_cast<std::uint64_t>(light_cones_));
    digest.add(static_cast<std::uint64_t>(supply_[Colour::black]) << 8 |
               static_cast<std::uint64_t>(supply_[Colour::white]));
    digest.add(static_cast<std::uint64_t>(tiles_left()) << 16 | static_cast<std::uint64_t>(to_play()) << 8 |
               static_cast<std::uint64_t>(winner()));
    return digest.value();
}

inline std::string Taigo::board() const {
    auto pieces = lattice_.pieces();
    std::sort(pieces.begin(), pieces.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    std::string text;
    for (const auto& [at, colour, cone] : pieces) {
        text += (text.empty() ? "" : " ") + cell_name(at) + "=";
        text += colour == Colour::black ? (cone ? 'x' : 'X') : (cone ? 'o' : 'O');
    }
    return text;
}

inline std::vector<std::string> Taigo::last_move() const {
    std::vector<std::string> cells;
    for (std::size_t i = last_; i < lattice_.pieces().size(); ++i) cells.push_back(cell_name(lattice_.pieces()[i].at));
    return cells;
}

inline std::vector<std::pair<std::string, std::string>> Taigo::tiles() const {
    std::vector<std::pair<std::string, std::string>> pairs;
    const auto& pieces = lattice_.pieces();
    for (std::size_t i = set_up_; i < pieces.size(); ++i)
        if (!pieces[i].cone) {
            pairs.emplace_back(cell_name(pieces[i].at), cell_name(pieces[i + 1].at));
            ++i;
        }
    return pairs;
}

static_assert(GameState<Taigo>);

}  // namespace ggp
