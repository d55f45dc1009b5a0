// What a failed proof says, and how one is demanded. Knows no game.
#pragma once
#include <stdexcept>
#include <string>

namespace ggp::native {

// A proof failed; what() names the game, the options, and the plies that lead there.
class Failure : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& claim) {
    if (!holds) throw Failure(claim);
}

// Calls `act`, which must throw Error. Returns the reason.
template <class Error, class Act>
std::string refusal(const std::string& what, Act act) {
    try {
        act();
    } catch (const Error& error) {
        return error.what();
    }
    throw Failure(what + ": must be refused");
}

// The same, and the reason must be exactly that.
template <class Error, class Act>
void refused(const std::string& reason, Act act) {
    const std::string said = refusal<Error>(reason, act);
    require(said == reason, "refused with `" + said + "`, not with `" + reason + "`");
}

}  // namespace ggp::native
