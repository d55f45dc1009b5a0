// Which positions stood in a game, and how often: what ko rules ask. Positions are known by their 64-bit keys.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ggp {

// An open-addressing table; a slot holds the upper 62 bits of a key and a count of 1..3 (3 stands for more).
// Two different positions of a game are taken for one with a chance of about plies^2 / 2^63.
class History {
  public:
    History() : slots_(64) {}

    // How often the position stood, up to 3.
    int count(std::uint64_t key) const { return static_cast<int>(slots_[find(key)] & times); }

    // The position stands (again), after `ply` plies. Returns how often it stood by now, up to 3.
    int add(std::uint64_t key, int ply) {
        if (logging_) log_.push_back({key, ply});
        std::uint64_t& slot = slots_[find(key)];
        if (slot == 0) {
            slot = (key & ~times) | 1;
            if (++used_ * 2 > slots_.size()) resize(slots_.size() * 2);
            return 1;
        }
        if ((slot & times) != times) ++slot;
        return static_cast<int>(slot & times);
    }

    // The ply after which the position stood first; -1 if it never did or if it is not logged.
    int first_ply(std::uint64_t key) const {
        for (const Entry& entry : log_)
            if (entry.key == key) return entry.ply;
        return -1;
    }

    // Room for `positions` without growing, and no log of plies from here on.
    void ready_for_playouts(std::size_t positions) {
        logging_ = false;
        log_.clear();
        std::size_t size = slots_.size();
        while (size < 2 * positions) size *= 2;
        if (size > slots_.size()) resize(size);
    }

  private:
    struct Entry {
        std::uint64_t key;
        int ply;
    };
    static constexpr std::uint64_t times = 3;

    std::size_t find(std::uint64_t key) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t i = (key >> 2) & mask;
        while (slots_[i] != 0 && ((slots_[i] ^ key) & ~times) != 0) i = (i + 1) & mask;
        return i;
    }

    void resize(std::size_t size) {
        std::vector<std::uint64_t> old(size);
        old.swap(slots_);
        for (const std::uint64_t slot : old)
            if (slot != 0) slots_[find(slot)] = slot;
    }

    std::vector<std::uint64_t> slots_;  // a power of two of them; 0 is free
    std::size_t used_ = 0;
    std::vector<Entry> log_;
    bool logging_ = true;
};

}  // namespace ggp
