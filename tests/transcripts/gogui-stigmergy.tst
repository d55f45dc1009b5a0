# engine: stigmergy size=2 --gogui
# Stigmergy under GoGui: pass bids nothing, then keeps sides; a cell bids its row, or swaps sides; control is marked as
# territory.
gogui-rules_board_size
#? [3 hex]

gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2 pass]

play b B3
#? []

gogui-rules_board_gfx
#? [TEXT The button is free, Komi: 3, white to choose a side]

gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2 pass]

play w C1
#? []

ggp-history
#? [1 black bid:3\n2 white swap-sides]

gogui-rules_board_gfx
#? [TEXT The button is free, Komi: 3, The sides were swapped, black to move]

undo
#? []

undo
#? []

play b pass
#? []

gogui-rules_side_to_move
#? [white]

gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2 pass]

play w pass
#? []

ggp-history
#? [1 black bid:0\n2 white keep-sides]

play b B2
#? []

play w A2
#? []

play b C2
#? []

play w B1
#? []

play b A3
#? []

gogui-rules_board
#? [X\.\?\nOXX\n\?O\.]

gogui-rules_legal_moves
#? [pass]

gogui-rules_board_gfx
#? [BLACK B3 A2 C1\nCIRCLE A3\nTEXT Komi: 0, white to move]

play w pass
#? []

gogui-rules_legal_moves
#? [A2 B3 C1 pass]

play b pass
#? []

gogui-rules_final_result
#? [B\+3]
