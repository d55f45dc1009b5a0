// A search tree that grows by playouts: PUCT with AMAF, rollouts, and proofs of what is won. It knows no game, and
// neither clocks nor threads: see search.hpp. Several playouts may be under way at a time. What a game may offer besides GameState:
//     certain_winner()  who wins however the opponent plays on; none if that is not plain
//     decides(move)     the winner if that is played, or none
//     dominated(move)   another move is at least as good: pruned. At least one move is not dominated
//     unlikely(move)    seldom a good move: its prior games are losses
//     move_priors()     the expected result of random games after each move: wins(move, of so many)
//
// Its numbers come out the same on every machine: integers, and the operations of IEEE 754 that are exactly rounded
// (+ - * / sqrt), one at a time (-ffp-contract=off).
#pragma once
#include <algorithm>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "best_child.hpp"
#include "game_state.hpp"
#include "playouts.hpp"
#include "rng.hpp"
#include "tree_node.hpp"

namespace ggp {

static_assert(FLT_EVAL_METHOD == 0, "floats are rounded after each operation");

// One playout after another, in buffers that are used again: through the tree, then a random game from where that ends.
// Aligned: those of several threads lie side by side, and should share no line of the cache.
template <GameState S>
class alignas(128) Playout {
  public:
    Playout(const S& root, std::uint64_t seed) : state_(root), rng_(seed), marks_(S::keys) {
        const auto longest = static_cast<std::size_t>(playout_plies_per_cell * root.cells());
        line_.reserve(longest), path_.reserve(longest), rollout_.resize(longest);
    }

    // Whether the tree has said how the game ends, or a rollout has.
    bool known() const { return points_ >= 0; }
    int points() const { return points_; }

    // To the end at random. No tree is looked at.
    void roll_out();

  private:
    template <GameState>
    friend class Tree;

    struct Step {
        std::uint32_t node;
        Colour mover;
    };
    struct Ply {
        std::uint16_t key;
        Colour colour;
    };

    S state_;
    Rng rng_;
    int points_ = -1;           // Black's half points; -1: not known yet
    std::vector<Step> path_;    // the nodes from the root on
    std::vector<Ply> line_;     // the moves from one to the next
    std::vector<Ply> rollout_;  // and then
    std::vector<std::uint32_t> marks_;  // by key: in which playout a move was made, and by which colour first
    std::uint32_t number_ = 0;

    std::uint32_t mark(Colour colour) const { return number_ << 2 | static_cast<std::uint32_t>(colour); }
    void set_mark(Ply ply) { marks_[ply.key] = mark(ply.colour); }  // from the last ply on: the earlier one stands
};

// The tree holds colours apart, not seats: a move that swaps sides is left out, and who may swap looks at the worth of
// the root. A root whose moves may be answered by a swap (`swap_follows`) is searched for the most even move.
template <GameState S>
class Tree {
  public:
    using Move = typename S::Move;
    using TreeNode = Node<Move>;

    // Nodes beyond `most_nodes` are not made: leaves then stay leaves. The root's children are always made.
    Tree(const S& root, std::size_t most_nodes)
        : root_(root), most_nodes_(std::min<std::size_t>(most_nodes, UINT32_MAX)) {
        root_.ready_for_playouts();
        nodes_.reserve(most_nodes_);
        clear();
    }

    const S& state() const { return root_; }
    TreeNode root() const { return nodes_[0]; }
    std::size_t nodes() const { return nodes_.size(); }
    bool swap_follows() const { return swap_follows_; }
    bool is_proven() const { return nodes_.links[0].proof != Proof::open; }
    std::vector<TreeNode> children(const TreeNode& node) const {
        std::vector<TreeNode> children;
        for (std::size_t i = node.first; i < node.first + node.count; ++i) children.push_back(nodes_[i]);
        return children;
    }

    // Begins a playout: to a leaf, or to what is proven. Until it is backed up or taken back it counts as a draw.
    // Not of a root that is over or proven.
    void descend(Playout<S>& playout);
    // Ends one that is known.
    void back_up(Playout<S>& playout);
    // As if it had not begun.
    void take_back(const Playout<S>& playout) {
        for (const auto& step : playout.path_) --nodes_.visits[step.node], nodes_.points[step.node] -= under_way;
    }

    // The position after a move that is possible at the root: what the tree knows of it is kept.
    void advance(const Move& move) {
        const auto children = this->children(root());
        const auto child =
            std::find_if(children.begin(), children.end(), [&](const TreeNode& n) { return n.move == move; });
        const auto place = static_cast<std::size_t>(child - children.begin());
        const std::size_t found = child == children.end() ? 0 : root().first + place;
        root_.apply(move);
        // Of a root that is proven the moves must be known as well.
        if (found == 0 || (child->first == 0 && child->proof != Proof::open)) return clear();
        keep(found);
        look_for_swaps();
    }

    // The same after what is no move of the tree, such as a list of dead stones.
    void restart(const S& root) {
        root_ = root;
        root_.ready_for_playouts();
        clear();
    }

  private:
    // Found by play of the built-in games against each other, as those of Choice.
    static constexpr float explores = 0.25F;  // the weight of what was seldom tried, which all moves share
    static constexpr int prior_games = 20;    // AMAF visits that a move begins with if the game has a view of it
    static constexpr int under_way = 1;       // half points of Black, as a draw

    // The visits after which a leaf gets children: one in a small tree, in a large one more, because most leaves are
    // never seen again and children are what a playout costs beside the random game.
    int expand_threshold() const {
        return 1 + static_cast<int>(std::bit_width(static_cast<std::uint32_t>(nodes_.visits[0]) / 512));
    }

    void clear() {
        nodes_.resize(0), nodes_.resize(1);
        look_for_swaps();
    }
    void look_for_swaps();
    void expand(Playout<S>& playout, std::uint32_t index, Colour mover);
    // Of the prior_games games after that move its mover wins so many.
    void set_prior(std::size_t child, Colour mover, int wins) {
        nodes_.amaf_visits[child] = prior_games;
        nodes_.amaf_points[child] = 2 * (mover == Colour::black ? wins : prior_games - wins);
    }
    std::uint32_t select(std::uint32_t index, Colour mover, bool even) const;
    void prove_path(const Playout<S>& playout);
    bool prove(std::uint32_t index, Colour mover);
    bool find_proof(S& state, std::uint32_t index);
    void keep(std::size_t child);
    static bool is_swap(const S& state, const Move& move) {
        return state.key(move) == 0 && std::string_view(state.text(move)) == "swap-sides";
    }

    S root_;
    std::size_t most_nodes_;
    bool swap_follows_ = false;
    Nodes<Move> nodes_;
    std::vector<Move> moves_;
};

template <GameState S>
void Tree<S>::look_for_swaps() {
    swap_follows_ = false;
    moves_.clear();
    root_.list_moves(moves_);
    if (moves_.empty()) return;
    S state = root_;
    state.apply(moves_.front());
    if (state.seat() == root_.seat()) return;
    moves_.clear();
    state.list_moves(moves_);
    swap_follows_ = std::any_of(moves_.begin(), moves_.end(), [&](const Move& m) { return is_swap(state, m); });
}

template <GameState S>
void Tree<S>::descend(Playout<S>& playout) {
    S& state = playout.state_;
    playout.path_.clear(), playout.line_.clear(), playout.points_ = -1;
    state = root_;
    ++playout.number_;
    for (std::uint32_t at = 0;;) {
        const Colour mover = state.to_play();
        playout.path_.push_back({at, mover});
        const int visits = ++nodes_.visits[at];
        nodes_.points[at] += under_way;
        if (visits == 1 && find_proof(state, at)) {
            prove_path(playout);
        } else if (nodes_.links[at].first == 0 && nodes_.links[at].proof == Proof::open &&
                   (at == 0 || visits > expand_threshold())) {
            expand(playout, at, mover);
        }
        const auto node = nodes_.links[at];
        if (node.proof != Proof::open) playout.points_ = points_of(node.proof);
        if (node.proof != Proof::open || node.first == 0) return;
        at = select(at, mover, at == 0 && swap_follows_);
        nodes_.fetch(nodes_.links[at].first, nodes_.links[at].count);
        playout.line_.push_back({nodes_.keys[at], mover});
        state.apply(nodes_.moves[at]);
    }
}

template <GameState S>
void Tree<S>::expand(Playout<S>& playout, std::uint32_t index, Colour mover) {
    S& state = playout.state_;  // not const: what a game offers may use buffers of its own
    moves_.clear();
    state.list_moves(moves_);
    std::erase_if(moves_, [&](const Move& move) {
        if constexpr (requires { state.dominated(move); })
            if (state.dominated(move)) return true;
        return is_swap(state, move);
    });
    const std::size_t first = nodes_.size(), count = std::min<std::size_t>(moves_.size(), UINT16_MAX);
    if (index != 0 && first + count > most_nodes_) return;
    for (std::size_t i = count; i > 1; --i)  // equals are tried in this order
        std::swap(moves_[i - 1], moves_[playout.rng_.below(static_cast<std::uint32_t>(i))]);
    bool proven = false;
    [[maybe_unused]] auto move_priors = [&] {
        if constexpr (requires { state.move_priors(); }) return state.move_priors();
        else return nullptr;
    }();
    nodes_.resize(first + count);
    for (std::size_t i = 0; i < count; ++i) {
        const Move& move = moves_[i];
        const std::size_t child = first + i;
        nodes_.moves[child] = move;
        nodes_.keys[child] = state.key(move);
        if constexpr (requires { state.unlikely(move); })
            if (state.unlikely(move)) set_prior(child, mover, 0);
        if constexpr (requires { state.move_priors(); }) set_prior(child, mover, move_priors.wins(move, prior_games));
        if constexpr (requires { state.decides(move); })
            if (const Colour winner = state.decides(move); winner != Colour::none) {
                nodes_.links[child].proof = won_by(winner);
                proven = true;
            }
    }
    auto& link = nodes_.links[index];
    link.first = static_cast<std::uint32_t>(first);
    link.count = static_cast<std::uint16_t>(count);
    link.child_proven = proven;
    if (proven && (index != 0 || !swap_follows_) && prove(index, mover)) prove_path(playout);
}

template <GameState S>
std::uint32_t Tree<S>::select(std::uint32_t index, Colour mover, bool even) const {
    const auto& link = nodes_.links[index];
    const float visits = static_cast<float>(nodes_.visits[index] - 1);  // but for the one that is on its way
    const float points = static_cast<float>(nodes_.points[index] - under_way);
    const float won = mover == Colour::black ? points : 2 * visits - points;
    const float prior = visits > 0 ? Choice::prior_visits * won / visits : Choice::prior_visits;
    const float exploration =
        explores / static_cast<float>(link.count) * std::sqrt(static_cast<float>(nodes_.visits[index]));
    const Children children(nodes_, link.first, link.count);
    return link.first + best_child(children, {mover, prior, exploration, even, link.child_proven || even});
}

// All of a ply is made one with this loop, as the compiler does it of itself in playouts(), where it is called once.
template <GameState S>
[[gnu::flatten]] void Playout<S>::roll_out() {
    const auto cap = static_cast<std::size_t>(playout_plies_per_cell * state_.cells());
    if (rollout_.size() < cap) rollout_.resize(cap);
    Ply* ply = rollout_.data();
    for (const Ply* const last = ply + cap; ply != last && state_.phase() != Phase::over; ++ply) {
        const Colour mover = state_.to_play();
        *ply = {state_.key(state_.play_random(rng_, Policy::rollout)), mover};
    }
    points_ = points_of(won_by(state_.phase() == Phase::over ? state_.leader() : Colour::none));
    while (ply != rollout_.data()) set_mark(*--ply);
}

template <GameState S>
void Tree<S>::back_up(Playout<S>& playout) {
    std::uint32_t* const marks = playout.marks_.data();
    for (std::size_t depth = playout.path_.size(); depth-- > 0;) {
        const std::uint32_t index = playout.path_[depth].node;
        nodes_.points[index] += playout.points_ - under_way;
        if (depth < playout.line_.size()) playout.set_mark(playout.line_[depth]);
        marks[0] = 0;
        const auto& link = nodes_.links[index];
        count_amaf(&nodes_.amaf_visits[link.first], &nodes_.amaf_points[link.first], &nodes_.keys[link.first], link.count,
                   marks, playout.mark(playout.path_[depth].mover), playout.points_);
    }
}

// Whether the position itself decides the winner: it is over, or the game knows. Not of the root: its moves are asked for.
template <GameState S>
bool Tree<S>::find_proof(S& state, std::uint32_t index) {
    Proof& proof = nodes_.links[index].proof;
    if (state.phase() == Phase::over) return proof = won_by(state.leader()), true;
    if constexpr (requires { state.certain_winner(); })
        if (const Colour winner = index == 0 ? Colour::none : state.certain_winner(); winner != Colour::none)
            return proof = won_by(winner), true;
    return false;
}

// The last node of the path has just been proven: so may be those before it.
template <GameState S>
void Tree<S>::prove_path(const Playout<S>& playout) {
    const auto& path = playout.path_;
    for (std::size_t depth = path.size() - 1; depth-- > 0;) {
        nodes_.links[path[depth].node].child_proven = true;
        if (depth == 0 && swap_follows_) return;
        if (!prove(path[depth].node, path[depth].mover)) return;
    }
}

template <GameState S>
bool Tree<S>::prove(std::uint32_t index, Colour mover) {
    auto& node = nodes_.links[index];
    const Proof win = won_by(mover);
    bool open = false, draw = false;
    for (std::size_t i = node.first; i < node.first + node.count; ++i) {
        const Proof proof = nodes_.links[i].proof;
        if (proof == win) return node.proof = win, true;
        open |= proof == Proof::open;
        draw |= proof == Proof::draw;
    }
    if (!open) node.proof = draw ? Proof::draw : won_by(other(mover));
    return !open;
}

// Drops all but what hangs on that child of the root, which becomes the root. Children lie behind their parents, so
// each block of children can move down, in their order, into what has become free.
template <GameState S>
void Tree<S>::keep(std::size_t child) {
    struct Block {
        std::uint32_t from, count, to;
    };
    nodes_.move_down(child, 1, 0);
    std::vector<Block> blocks;
    const auto add = [&](std::size_t index) {
        if (const auto& link = nodes_.links[index]; link.first != 0) blocks.push_back({link.first, link.count, 0});
    };
    add(0);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        for (std::uint32_t n = 0; n < blocks[i].count; ++n) add(blocks[i].from + n);
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.from < b.from; });
    std::uint32_t free = 1;
    for (Block& block : blocks) block.to = free, free += block.count;
    const auto moved = [&](std::uint32_t from) {
        if (from == 0) return from;
        const auto before = [](const Block& block, std::uint32_t place) { return block.from < place; };
        return std::lower_bound(blocks.begin(), blocks.end(), from, before)->to;
    };
    nodes_.links[0].first = moved(nodes_.links[0].first);
    for (const Block& block : blocks) {
        nodes_.move_down(block.from, block.count, block.to);
        for (std::uint32_t n = 0; n < block.count; ++n)
            nodes_.links[block.to + n].first = moved(nodes_.links[block.to + n].first);
    }
    nodes_.resize(free);
}

}  // namespace ggp
