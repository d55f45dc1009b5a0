# engine: yugo size=3 komi=0 --gogui
# How GoGui drives a ruler: pass takes the button first.
gogui-rules_game_id
#? [Yugo]

gogui-rules_board_size
#? [3]

gogui-rules_legal_moves
#? [A1 A2 A3 B1 B2 B3 C1 C2 C3 pass]

gogui-rules_side_to_move
#? [black]

play b B1
#? []

play w A1
#? []

play b A2
#? []

gogui-rules_board
#? [\.\.\.\nX\.\.\n\.X\.]

gogui-rules_board_gfx
#? [SQUARE A2\nCIRCLE A2\nTEXT Black has captured 1, White has captured 0, The button is free, Komi: 0, white to move]

gogui-rules_captured_count
#? [1 0]

play w pass
#? []

play b pass
#? []

gogui-rules_final_result
#? [undecided]

play w pass
#? []

gogui-rules_final_result
#? [B\+8\.5]

gogui-rules_legal_moves
#? []

undo
#? []

gogui-rules_side_to_move
#? [white]

ggp-history
#? [1 black B1\n2 white A1\n1 black A2\n2 white button\n1 black pass]
