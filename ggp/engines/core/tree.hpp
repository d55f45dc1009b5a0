// A search tree that grows by playouts: PUCT with AMAF, rollouts, and proofs of what is won. It knows no game, and
// neither clocks nor threads: see search.hpp. What a game may offer besides GameState:
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

// The tree holds colours apart, not seats: a move that swaps sides is left out, and who may swap looks at the worth of
// the root. A root whose moves may be answered by a swap (`swap_follows`) is searched for the most even move.
// Aligned: trees of several threads lie side by side, and no thread writes to a line of the cache that another one reads.
template <GameState S>
class alignas(128) Tree {
  public:
    using Move = typename S::Move;
    using TreeNode = Node<Move>;

    // Nodes beyond `most_nodes` are not made: leaves then stay leaves. The root's children are always made.
    Tree(const S& root, std::uint64_t seed, std::size_t most_nodes) : root_(root), state_(root), rng_(seed),
        most_nodes_(std::min<std::size_t>(most_nodes, UINT32_MAX)), marks_(S::keys) {
        root_.ready_for_playouts();
        const auto longest = static_cast<std::size_t>(playout_plies_per_cell * root_.cells());
        line_.reserve(longest), path_.reserve(longest), rollout_.resize(longest);
        nodes_.reserve(most_nodes_);
        begin();
    }

    const S& state() const { return root_; }
    TreeNode root() const { return nodes_[0]; }
    std::size_t nodes() const { return nodes_.size(); }
    bool swap_follows() const { return swap_follows_; }
    std::vector<TreeNode> children(const TreeNode& node) const {
        std::vector<TreeNode> children;
        for (std::size_t i = node.first; i < node.first + node.count; ++i) children.push_back(nodes_[i]);
        return children;
    }

    // Goes on for so many playouts, or until the root is proven. Not of a position that is over.
    void play(std::uint64_t playouts) {
        for (; playouts > 0 && nodes_.links[0].proof == Proof::open; --playouts) play_one();
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
        if (found == 0 || (child->first == 0 && child->proof != Proof::open)) return begin();
        keep(found);
        look_for_swaps();
    }

    // The same after what is no move of the tree, such as a list of dead stones.
    void restart(const S& root) {
        root_ = root;
        root_.ready_for_playouts();
        begin();
    }

  private:
    // Found by play of the built-in games against each other, as those of Choice.
    static constexpr float explores = 0.25F;  // the weight of what was seldom tried, which all moves share
    static constexpr int prior_games = 20;    // AMAF visits that a move begins with if the game has a view of it

    struct Step {
        std::uint32_t node;
        Colour mover;
    };
    struct Ply {
        std::uint16_t key;
        Colour colour;
    };

    // The visits after which a leaf gets children: one in a small tree, in a large one more, because most leaves are
    // never seen again and children are what a playout costs beside the random game.
    int expand_threshold() const {
        return 1 + static_cast<int>(std::bit_width(static_cast<std::uint32_t>(nodes_.visits[0]) / 512));
    }

    void begin() {
        nodes_.resize(0), nodes_.resize(1);
        look_for_swaps();
    }
    void look_for_swaps();
    void play_one();
    void expand(std::uint32_t index, Colour mover);
    // Of the prior_games games after that move its mover wins so many.
    void set_prior(std::size_t child, Colour mover, int wins) {
        nodes_.amaf_visits[child] = prior_games;
        nodes_.amaf_points[child] = 2 * (mover == Colour::black ? wins : prior_games - wins);
    }
    std::uint32_t select(std::uint32_t index, Colour mover, bool even) const;
    int rollout();
    void back_up(int points);
    void prove_path();
    bool prove(std::uint32_t index, Colour mover);
    bool find_proof(std::uint32_t index);
    void keep(std::size_t child);
    bool is_swap(const S& state, const Move& move) const {
        return state.key(move) == 0 && std::string_view(state.text(move)) == "swap-sides";
    }

    S root_, state_;
    Rng rng_;
    std::size_t most_nodes_;
    bool swap_follows_ = false;
    Nodes<Move> nodes_;
    std::vector<Step> path_;  // of the playout: the nodes from the root on
    std::vector<Ply> line_;     // the moves from one to the next
    std::vector<Ply> rollout_;  // and then: the first plies_ are those of this playout
    std::size_t plies_ = 0;
    std::vector<std::uint32_t> marks_;  // by key: in which playout a move was made, and by which colour first
    std::uint32_t playout_ = 0;
    std::vector<Move> moves_;
};

template <GameState S>
void Tree<S>::look_for_swaps() {
    swap_follows_ = false;
    moves_.clear();
    root_.list_moves(moves_);
    if (moves_.empty()) return;
    state_ = root_;
    state_.apply(moves_.front());
    if (state_.seat() == root_.seat()) return;
    moves_.clear();
    state_.list_moves(moves_);
    swap_follows_ = std::any_of(moves_.begin(), moves_.end(), [this](const Move& m) { return is_swap(state_, m); });
}

template <GameState S>
void Tree<S>::play_one() {
    state_ = root_;
    path_.clear(), line_.clear(), plies_ = 0;
    int points = -1;
    for (std::uint32_t at = 0; points < 0;) {
        const int visits = ++nodes_.visits[at];
        const Colour mover = state_.to_play();
        path_.push_back({at, mover});
        if (visits == 1 && find_proof(at)) {
            prove_path();
        } else if (nodes_.links[at].first == 0 && nodes_.links[at].proof == Proof::open &&
                   (at == 0 || visits > expand_threshold())) {
            expand(at, mover);
        }
        const auto node = nodes_.links[at];
        if (node.proof != Proof::open) {
            points = points_of(node.proof);
        } else if (node.first == 0) {
            points = rollout();
        } else {
            at = select(at, mover, at == 0 && swap_follows_);
            nodes_.fetch(nodes_.links[at].first, nodes_.links[at].count);
            line_.push_back({nodes_.keys[at], mover});
            state_.apply(nodes_.moves[at]);
        }
    }
    back_up(points);
}

template <GameState S>
void Tree<S>::expand(std::uint32_t index, Colour mover) {
    moves_.clear();
    state_.list_moves(moves_);
    std::erase_if(moves_, [this](const Move& move) {
        if constexpr (requires { state_.dominated(move); })
            if (state_.dominated(move)) return true;
        return is_swap(state_, move);
    });
    const std::size_t first = nodes_.size(), count = std::min<std::size_t>(moves_.size(), UINT16_MAX);
    if (index != 0 && first + count > most_nodes_) return;
    for (std::size_t i = count; i > 1; --i)  // equals are tried in this order
        std::swap(moves_[i - 1], moves_[rng_.below(static_cast<std::uint32_t>(i))]);
    bool proven = false;
    [[maybe_unused]] auto move_priors = [this] {
        if constexpr (requires { state_.move_priors(); }) return state_.move_priors();
        else return nullptr;
    }();
    nodes_.resize(first + count);
    for (std::size_t i = 0; i < count; ++i) {
        const Move& move = moves_[i];
        const std::size_t child = first + i;
        nodes_.moves[child] = move;
        nodes_.keys[child] = state_.key(move);
        if constexpr (requires { state_.unlikely(move); })
            if (state_.unlikely(move)) set_prior(child, mover, 0);
        if constexpr (requires { state_.move_priors(); }) set_prior(child, mover, move_priors.wins(move, prior_games));
        if constexpr (requires { state_.decides(move); })
            if (const Colour winner = state_.decides(move); winner != Colour::none) {
                nodes_.links[child].proof = won_by(winner);
                proven = true;
            }
    }
    auto& link = nodes_.links[index];
    link.first = static_cast<std::uint32_t>(first);
    link.count = static_cast<std::uint16_t>(count);
    link.child_proven = proven;
    if (proven && (index != 0 || !swap_follows_) && prove(index, mover)) prove_path();
}

template <GameState S>
std::uint32_t Tree<S>::select(std::uint32_t index, Colour mover, bool even) const {
    const auto& link = nodes_.links[index];
    const float visits = static_cast<float>(nodes_.visits[index] - 1), points = static_cast<float>(nodes_.points[index]);
    const float won = mover == Colour::black ? points : 2 * visits - points;
    const float prior = visits > 0 ? Choice::prior_visits * won / visits : Choice::prior_visits;
    const float exploration =
        explores / static_cast<float>(link.count) * std::sqrt(static_cast<float>(nodes_.visits[index]));
    const Children children(nodes_, link.first, link.count);
    return link.first + best_child(children, {mover, prior, exploration, even, link.child_proven || even});
}

// Black's half points of a random game from where state_ is. All of a ply is made one with this loop, as the compiler
// does it of itself in playouts(), where it is called once.
template <GameState S>
[[gnu::flatten]] int Tree<S>::rollout() {
    const auto cap = static_cast<std::size_t>(playout_plies_per_cell * state_.cells());
    if (rollout_.size() < cap) rollout_.resize(cap);
    Ply* ply = rollout_.data();
    for (const Ply* const last = ply + cap; ply != last && state_.phase() != Phase::over; ++ply) {
        const Colour mover = state_.to_play();
        *ply = {state_.key(state_.play_random(rng_, Policy::rollout)), mover};
    }
    plies_ = static_cast<std::size_t>(ply - rollout_.data());
    return points_of(won_by(state_.phase() == Phase::over ? state_.leader() : Colour::none));
}

template <GameState S>
void Tree<S>::back_up(int points) {
    const std::uint32_t playout = ++playout_ << 2;
    std::uint32_t* const marks = marks_.data();
    const auto mark = [=](Colour colour) { return playout | static_cast<std::uint32_t>(colour); };
    const auto set = [=](Ply ply) { marks[ply.key] = mark(ply.colour); };  // from the last ply on: the earlier one stands
    for (const Ply *first = rollout_.data(), *ply = first + plies_; ply != first;) set(*--ply);
    for (std::size_t depth = path_.size(); depth-- > 0;) {
        const std::uint32_t index = path_[depth].node;
        nodes_.points[index] += points;
        if (depth < line_.size()) set(line_[depth]);
        marks[0] = 0;
        const auto& link = nodes_.links[index];
        count_amaf(&nodes_.amaf_visits[link.first], &nodes_.amaf_points[link.first], &nodes_.keys[link.first], link.count,
                   marks, mark(path_[depth].mover), points);
    }
}

// Whether the position itself decides the winner: it is over, or the game knows. Not of the root: its moves are asked for.
template <GameState S>
bool Tree<S>::find_proof(std::uint32_t index) {
    Proof& proof = nodes_.links[index].proof;
    if (state_.phase() == Phase::over) return proof = won_by(state_.leader()), true;
    if constexpr (requires { state_.certain_winner(); })
        if (const Colour winner = index == 0 ? Colour::none : state_.certain_winner(); winner != Colour::none)
            return proof = won_by(winner), true;
    return false;
}

// The last node of the path has just been proven: so may be those before it.
template <GameState S>
void Tree<S>::prove_path() {
    for (std::size_t depth = path_.size() - 1; depth-- > 0;) {
        nodes_.links[path_[depth].node].child_proven = true;
        if (depth == 0 && swap_follows_) return;
        if (!prove(path_[depth].node, path_[depth].mover)) return;
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
