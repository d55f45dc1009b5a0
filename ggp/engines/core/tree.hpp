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
#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "game_state.hpp"
#include "playouts.hpp"
#include "rng.hpp"
#include "tree_node.hpp"

namespace ggp {

static_assert(FLT_EVAL_METHOD == 0, "floats are rounded after each operation");

// The tree holds colours apart, not seats: a move that swaps sides is left out, and who may swap looks at the worth of
// the root. A root whose moves may be answered by a swap (`swap_follows`) is searched for the most even move.
template <GameState S>
class Tree {
  public:
    using Move = typename S::Move;
    using TreeNode = Node<Move>;
    static_assert(sizeof(TreeNode) <= 64);

    // Nodes beyond `most_nodes` are not made: leaves then stay leaves. The root's children are always made.
    Tree(const S& root, std::uint64_t seed, std::size_t most_nodes) : root_(root), state_(root), rng_(seed),
        most_nodes_(std::min<std::size_t>(most_nodes, UINT32_MAX)), marks_(S::keys) {
        root_.ready_for_playouts();
        const auto longest = static_cast<std::size_t>(playout_plies_per_cell * root_.cells());
        line_.reserve(longest), path_.reserve(longest);
        nodes_.reserve(most_nodes_);
        begin();
    }

    const S& state() const { return root_; }
    const TreeNode& root() const { return nodes_[0]; }
    std::size_t nodes() const { return nodes_.size(); }
    bool swap_follows() const { return swap_follows_; }
    std::span<const TreeNode> children(const TreeNode& node) const { return {nodes_.data() + node.first, node.count}; }

    // Goes on for so many playouts, or until the root is proven. Not of a position that is over.
    void play(std::uint64_t playouts) {
        for (; playouts > 0 && root().proof == Proof::open; --playouts) play_one();
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
        if (found == 0 || (nodes_[found].first == 0 && nodes_[found].proof != Proof::open)) return begin();
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
    // Found by play of the built-in games against each other; tests/bench measures what they cost.
    static constexpr float explores = 0.25F;   // the weight of what was seldom tried, which all moves share
    static constexpr float amaf_lasts = 2000;  // visits after which AMAF counts half
    static constexpr float prior_visits = 5;   // an untried move has the value of its parent
    static constexpr int prior_games = 20;     // AMAF visits that a move begins with if the game has a view of it

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
        return 1 + static_cast<int>(std::bit_width(static_cast<std::uint32_t>(root().visits) / 512));
    }

    void begin() {
        nodes_.clear();
        nodes_.emplace_back();
        look_for_swaps();
    }
    void look_for_swaps();
    void play_one();
    void expand(std::uint32_t index, Colour mover);
    // Of the prior_games games after that move its mover wins so many.
    static void set_prior(TreeNode& child, Colour mover, int wins) {
        child.amaf = Tries{prior_games, 2 * (mover == Colour::black ? wins : prior_games - wins)};
    }
    std::uint32_t select(const TreeNode& node, Colour mover, bool even) const;
    int rollout();
    void back_up(int points);
    void prove_path();
    bool prove(TreeNode& node, Colour mover) const;
    bool find_proof(TreeNode& node);
    void keep(std::size_t child);
    bool is_swap(const S& state, const Move& move) const {
        return state.key(move) == 0 && std::string_view(state.text(move)) == "swap-sides";
    }

    S root_, state_;
    Rng rng_;
    std::size_t most_nodes_;
    bool swap_follows_ = false;
    std::vector<TreeNode> nodes_;
    std::vector<Step> path_;  // of the playout: the nodes from the root on
    std::vector<Ply> line_;   // and all its moves
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
    path_.clear(), line_.clear();
    int points = -1;
    for (std::uint32_t at = 0; points < 0;) {
        ++nodes_[at].visits;
        const Colour mover = state_.to_play();
        path_.push_back({at, mover});
        if (nodes_[at].visits == 1 && find_proof(nodes_[at])) {
            prove_path();
        } else if (nodes_[at].first == 0 && nodes_[at].proof == Proof::open &&
                   (at == 0 || nodes_[at].visits > expand_threshold())) {
            expand(at, mover);
        }
        const TreeNode& node = nodes_[at];
        if (node.proof != Proof::open) {
            points = points_of(node.proof);
        } else if (node.first == 0) {
            points = rollout();
        } else {
            at = select(node, mover, at == 0 && swap_follows_);
            line_.push_back({nodes_[at].key, mover});
            state_.apply(nodes_[at].move);
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
    for (std::size_t i = 0; i < count; ++i) {
        TreeNode child;
        child.move = moves_[i];
        child.key = state_.key(child.move);
        if constexpr (requires { state_.unlikely(child.move); })
            if (state_.unlikely(child.move)) set_prior(child, mover, 0);
        if constexpr (requires { state_.move_priors(); }) set_prior(child, mover, move_priors.wins(child.move, prior_games));
        if constexpr (requires { state_.decides(child.move); })
            if (const Colour winner = state_.decides(child.move); winner != Colour::none) {
                child.proof = won_by(winner);
                proven = true;
            }
        nodes_.push_back(child);
    }
    nodes_[index].first = static_cast<std::uint32_t>(first);
    nodes_[index].count = static_cast<std::uint16_t>(count);
    nodes_[index].child_proven = proven;
    if (proven && (index != 0 || !swap_follows_) && prove(nodes_[index], mover)) prove_path();
}

// PUCT with equal priors, 1 over the number of moves (Rosin 2011), and AMAF as Gelly and Silver weigh it (2011): its
// weight is a / (a + n + a n / c), n visits and a of AMAF. All terms are multiplied out, so that one division does, and
// four children are looked at in one go: this is the most that a playout costs beside the random game.
template <GameState S>
std::uint32_t Tree<S>::select(const TreeNode& node, Colour mover, bool even) const {
    const float sign = mover == Colour::black ? 1.0F : -1.0F, offset = mover == Colour::black ? 0.0F : 2.0F;
    const auto for_mover = [&](auto points, auto visits) { return sign * points + offset * visits; };
    const float visits = static_cast<float>(node.visits - 1);
    const float prior =
        visits > 0 ? prior_visits * for_mover(static_cast<float>(node.points), visits) / visits : prior_visits;
    const float exploration = explores / static_cast<float>(node.count) * std::sqrt(static_cast<float>(node.visits));
    const Proof lost = won_by(other(mover));
    const TreeNode* const first = nodes_.data() + node.first;
    Floats highest = {-4, -4, -4, -4};  // of each fourth child, the first of equals, and which that is
    Ints best{};
    // Of a move the worth, doubled. careful: also where moves are proven, or the most even one is looked for, or less
    // than four are `there`.
    const auto look = [&]<bool careful>(const TreeNode* four, std::int32_t i, std::int32_t there) {
        const auto [n, mine, a, amaf] = Four(four);
        const Floats stretch = 1 + a * (1 / amaf_lasts);
        Floats points = for_mover(mine, n) * stretch + for_mover(amaf, a) + prior;
        const Floats weight = n * stretch + a + prior_visits;
        if (careful && even) points = 2 * weight - points < points ? 2 * weight - points : points;
        Floats worths = (points * (1 + n) + 2 * exploration * weight) / (weight * (1 + n));
        if constexpr (careful)
            for (std::size_t k = 0; k < 4; ++k) {
                const Proof proof = four[k].proof;
                if (proof != Proof::open)
                    worths[k] = proof == Proof::draw ? 1.0F : proof == lost || even ? -2.0F : 4.0F;
                if (k >= static_cast<std::size_t>(there)) worths[k] = -6;
            }
        const Ints higher = worths > highest;
        highest = worths > highest ? worths : highest;
        best = higher ? Ints{} + i : best;
    };
    const auto count = static_cast<std::int32_t>(node.count);
    // The last four may be looked at with some of those before: of equals the first stands in any case.
    const auto look_at_all = [&]<bool careful>() {
        for (std::int32_t i = 0; i + 4 <= count; i += 4) look.template operator()<careful>(first + i, i, 4);
        if (count % 4 != 0) look.template operator()<careful>(first + count - 4, count - 4, 4);
    };
    if (count < 4) {
        std::array<TreeNode, 4> few;
        std::copy(first, first + count, few.begin());
        look.template operator()<true>(few.data(), 0, count);
    } else if (node.child_proven || even) {
        look_at_all.template operator()<true>();
    } else {
        look_at_all.template operator()<false>();
    }
    std::int32_t k = 0;
    for (std::int32_t l = 1; l < 4; ++l)
        if (highest[l] > highest[k] || (highest[l] == highest[k] && best[l] + l < best[k] + k)) k = l;
    return node.first + static_cast<std::uint32_t>(best[k] + k);
}

// Black's half points of a random game from where state_ is. All of a ply is made one with this loop, as the compiler
// does it of itself in playouts(), where it is called once.
template <GameState S>
[[gnu::flatten]] int Tree<S>::rollout() {
    const int cap = playout_plies_per_cell * state_.cells();
    int plies = 0;
    for (; plies < cap && state_.phase() != Phase::over; ++plies) {
        const Colour mover = state_.to_play();
        line_.push_back({state_.key(state_.play_random(rng_, Policy::rollout)), mover});
    }
    return points_of(won_by(state_.phase() == Phase::over ? state_.leader() : Colour::none));
}

template <GameState S>
void Tree<S>::back_up(int points) {
    ++playout_;
    const auto mark = [this](Colour colour) { return playout_ << 2 | static_cast<std::uint32_t>(colour); };
    const Tries seen[] = {{0, 0}, {1, points}};
    std::size_t ply = line_.size();
    for (std::size_t depth = path_.size(); depth-- > 0;) {
        TreeNode& node = nodes_[path_[depth].node];
        node.points += points;
        for (; ply > depth; --ply) marks_[line_[ply - 1].key] = mark(line_[ply - 1].colour);  // the earlier one stands
        marks_[0] = 0;
        const std::uint32_t made = mark(path_[depth].mover);
        for (std::uint32_t i = node.first; i < node.first + node.count; ++i) {
            TreeNode& child = nodes_[i];
            child.amaf += seen[marks_[child.key] == made];
        }
    }
}

// Whether the position itself decides the winner: it is over, or the game knows. Not of the root: its moves are asked for.
template <GameState S>
bool Tree<S>::find_proof(TreeNode& node) {
    if (state_.phase() == Phase::over) return node.proof = won_by(state_.leader()), true;
    if constexpr (requires { state_.certain_winner(); })
        if (const Colour winner = &node == &nodes_[0] ? Colour::none : state_.certain_winner(); winner != Colour::none)
            return node.proof = won_by(winner), true;
    return false;
}

// The last node of the path has just been proven: so may be those before it.
template <GameState S>
void Tree<S>::prove_path() {
    for (std::size_t depth = path_.size() - 1; depth-- > 0;) {
        nodes_[path_[depth].node].child_proven = true;
        if (depth == 0 && swap_follows_) return;
        if (!prove(nodes_[path_[depth].node], path_[depth].mover)) return;
    }
}

template <GameState S>
bool Tree<S>::prove(TreeNode& node, Colour mover) const {
    const Proof win = won_by(mover);
    bool open = false, draw = false;
    for (const TreeNode& child : children(node)) {
        if (child.proof == win) return node.proof = win, true;
        open |= child.proof == Proof::open;
        draw |= child.proof == Proof::draw;
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
    nodes_[0] = nodes_[child];
    std::vector<Block> blocks;
    const auto add = [&](const TreeNode& node) {
        if (node.first != 0) blocks.push_back({node.first, node.count, 0});
    };
    add(nodes_[0]);
    for (std::size_t i = 0; i < blocks.size(); ++i)
        for (std::uint32_t n = 0; n < blocks[i].count; ++n) add(nodes_[blocks[i].from + n]);
    std::sort(blocks.begin(), blocks.end(), [](const Block& a, const Block& b) { return a.from < b.from; });
    std::uint32_t free = 1;
    for (Block& block : blocks) block.to = free, free += block.count;
    const auto moved = [&](std::uint32_t from) {
        if (from == 0) return from;
        const auto before = [](const Block& block, std::uint32_t place) { return block.from < place; };
        return std::lower_bound(blocks.begin(), blocks.end(), from, before)->to;
    };
    nodes_[0].first = moved(nodes_[0].first);
    for (const Block& block : blocks)
        for (std::uint32_t n = 0; n < block.count; ++n) {
            TreeNode& node = nodes_[block.to + n] = nodes_[block.from + n];
            node.first = moved(node.first);
        }
    nodes_.resize(free);
}

}  // namespace ggp
