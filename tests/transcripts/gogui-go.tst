# engine: go size=2 agreement=on komi=0.5 --gogui
# Go under GoGui: pass passes, and then names no dead stones.
gogui-rules_game_id
#? [Go]

gogui-rules_board_size
#? [2]

gogui-rules_legal_moves
#? [A1 A2 B1 B2 pass]

play b A1
#? []

play w B2
#? []

gogui-rules_board
#? [\.O\nX\.]

play b pass
#? []

play w pass
#? []

gogui-rules_legal_moves
#? [pass]

gogui-rules_side_to_move
#? [black]

play b pass
#? []

play w pass
#? []

gogui-rules_final_result
#? [W\+0\.5]

gogui-rules_legal_moves
#? []

undo
#? []

gogui-rules_final_result
#? [undecided]

ggp-history
#? [1 black A1\n2 white B2\n1 black pass\n2 white pass\n1 black dead:]
