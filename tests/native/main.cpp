// `native_proofs [GAME …] [seed=N] [positions=N] [moves=N] [texts=N]`: proves the core without Python. Status 1: a proof failed.
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iostream>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "proofs.hpp"

namespace {

using namespace ggp::native;

const std::map<std::string, std::function<void(const Effort&)>> proofs = {
    {"go", prove_go},
    {"laido", prove_laido},
    {"stigmergy", prove_stigmergy},
    {"taigo", prove_taigo},
    {"taugo", prove_taugo},
    {"yugo", prove_yugo},
    {"shared", [](const Effort&) { prove_shared_parts(); }},
};

// `positions=500` -> its field of effort. False for an unknown word.
bool read(const std::string& word, Effort& effort) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos) return false;
    const std::string key = word.substr(0, equals);
    const int value = std::stoi(word.substr(equals + 1));
    if (key == "seed") effort.seed = static_cast<std::uint64_t>(value);
    else if (key == "positions") effort.positions = value;
    else if (key == "moves") effort.moves = value;
    else if (key == "texts") effort.texts = value;
    else return false;
    return true;
}

}  // namespace

void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    ++ggp::native::allocations;
    return std::malloc(bytes);
}
void* operator new(std::size_t bytes) {
    if (void* const memory = operator new(bytes, std::nothrow)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

int main(int argc, char** argv) {
    Effort effort;
    std::vector<std::string> chosen;
    for (const std::string& word : std::vector<std::string>(argv + 1, argv + argc)) {
        if (proofs.contains(word)) chosen.push_back(word);
        else if (!read(word, effort)) return std::cerr << "unknown: " << word << "\n", 2;
    }
    try {
        for (const auto& [name, prove] : proofs)
            if (chosen.empty() || std::find(chosen.begin(), chosen.end(), name) != chosen.end()) prove(effort);
    } catch (const std::exception& error) {
        return std::cerr << "failed: " << error.what() << "\n", 1;
    }
}
