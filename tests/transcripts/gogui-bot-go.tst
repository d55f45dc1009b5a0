# bot: random seed=2 --gogui go size=3
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
#? [3]
gogui-rules_game_id
#? [Go]
name
#? [random]
protocol_version
#? [2]
gogui-rules_board_size
#? [3]
gogui-analyze_commands
#? [gfx/Marks and status/gogui-rules_board_gfx\nstring/Score/final_score\nstring/Side to move/gogui-rules_side_to_move\nstring/Result/gogui-rules_final_result]
boardsize 3
#? []
clear_board
#? []
komi 6.5
#? []
gogui-rules_board_size
#? [3]
gogui-rules_game_id
#? [Go]
play B B1
#? []
genmove w
#? [A1]
play B PASS
#? []
genmove w
#? [A3]
play B PASS
#? []
genmove w
#? [A2]
play B PASS
#? []
genmove w
#? [C1]
play B B3
#? []
genmove w
#? [C2]
play B B2
#? []
genmove w
#? [A3]
play B PASS
#? []
genmove w
#? [A2]
play B A1
#? []
genmove w
#? [pass]
play B PASS
#? []
