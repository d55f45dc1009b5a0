# engine: taugo size=6 --gogui
# Taugo under GoGui: a run point by point, pass ends it; the corners are no cells.
gogui-rules_board_size
#? [6]

gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\.\.\.\.\.\.\n\?\.\.\.\.\?]

gogui-rules_legal_moves
#? [B2 B3 B4 B5 C2 C3 C4 C5 D2 D3 D4 D5 E2 E3 E4 E5]

play b pass
#? [\? illegal move: the first ply is a black stone: it may be swapped and cannot be passed]

play b C3
#? []

play b pass
#? []

gogui-rules_side_to_move
#? [white]

play w swap-sides
#? []

play w D4
#? []

play w pass
#? []

play b C4
#? []

gogui-rules_legal_moves
#? [C5 pass]

play b pass
#? []

play b B2
#? [\? illegal move: it is white's turn]

play w pass
#? []

gogui-rules_board
#? [[?]\.\.\.\.\?\n\.\.\.\.\.\.\n\.\.XO\.\.\n\.\.X\.\.\.\n\.\.\.\.\.\.\n\?\.\.\.\.\?]

gogui-rules_board_gfx
#? [TEXT Black has 1 string, White has 1 string, black to move]

undo
#? []

gogui-rules_legal_moves
#? [B2 B3 B4 B5 C2 C5 D2 D3 D5 E2 E3 E4 E5 pass]

ggp-history
#? [1 black C3\n2 white swap-sides\n1 white D4\n2 black C4]
