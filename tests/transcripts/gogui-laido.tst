# engine: laido size=2 --gogui
# Laido under GoGui: a rhombus of 2s-1; the pie by a menu entry, no pass before it.
gogui-rules_game_id
#? [Laido]

gogui-rules_board_size
#? [3 hex]

gogui-rules_board
#? [\.\.\?\n\.\.\.\n\?\.\.]

gogui-rules_legal_moves
#? [A2 A3 B1 B2 B3 C1 C2]

gogui-analyze_commands
#? [gfx/Marks and status/gogui-rules_board_gfx\nstring/Score/final_score\nstring/Score details/ggp-score\nstring/Side to move/gogui-rules_side_to_move\nstring/Result/gogui-rules_final_result\nhstring/History/ggp-history\nhstring/Rules/ggp-rules]

play b pass
#? [\? illegal move: the first ply is a black stone: it may be swapped and cannot be passed]

play b C2
#? []

play w swap-sides
#? []

gogui-rules_side_to_move
#? [white]

play w A2
#? []

gogui-rules_board
#? [\.\.\?\nO\.X\n\?\.\.]

gogui-rules_board_gfx
#? [CIRCLE A2\nTEXT black to move]

play b pass
#? []

play w pass
#? []

gogui-rules_final_result
#? [B\+0\.5]

gogui-rules_legal_moves
#? []
