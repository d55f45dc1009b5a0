"""Moves that are words of the protocol instead of places on a board."""

MOVE_WORDS = ("pass", "button", "swap-sides", "keep-sides")
_BEGINNINGS = ("bid:", "dead:")


def is_move_word(word: str) -> bool:
    """Return True for a word that is a move in some game, whether it is legal now or not."""
    return word in MOVE_WORDS or word.startswith(_BEGINNINGS)
