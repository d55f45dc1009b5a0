# bot: random seed=2 --gogui laido size=2
# What GoGui 1.6.0 itself sends to the program that plays White against a person, attached beside a ruler: a whole game.
name
#? [random]
protocol_version
#? [2]
version
#? [.+]
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_board_size
#? [3 hex]
gogui-rules_board_size
#? [3 hex]
name
#? [random]
protocol_version
#? [2]
gogui-rules_board_size
#? [3 hex]
gogui-analyze_commands
#? [gfx/Marks and status/gogui-rules_board_gfx\nstring/Score/final_score\nstring/Side to move/gogui-rules_side_to_move\nstring/Result/gogui-rules_final_result]
boardsize 3
#? []
clear_board
#? []
komi 6.5
#? []
gogui-rules_board_size
#? [3 hex]
play B A3
#? []
genmove w
#? [A2]
play B B2
#? []
genmove w
#? [B1]
play B B3
#? []
genmove w
#? [C1]
play B C2
#? []
genmove w
#? [pass]
play B PASS
#? []
