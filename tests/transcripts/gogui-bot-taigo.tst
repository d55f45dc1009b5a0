# bot: random seed=2 --gogui taigo tiles=5
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
#? [51 hex]
gogui-rules_board_size
#? [51 hex]
name
#? [random]
protocol_version
#? [2]
gogui-rules_board_size
#? [51 hex]
gogui-analyze_commands
#? [gfx/Marks and status/gogui-rules_board_gfx\nstring/Score/final_score\nstring/Side to move/gogui-rules_side_to_move\nstring/Result/gogui-rules_final_result]
boardsize 51
#? []
clear_board
#? []
komi 6.5
#? []
gogui-rules_board_size
#? [51 hex]
play B AD26
#? []
play B AC26
#? []
play B PASS
#? []
genmove w
#? [Z27]
genmove w
#? [Z26]
genmove w
#? [pass]
play B X28
#? []
undo
#? []
undo
#? []
undo
#? []
genmove w
#? [AA27]
genmove w
#? [pass]
play B Z29
#? []
play B AA28
#? []
play B PASS
#? []
genmove w
#? [Z30]
genmove w
#? [Y31]
genmove w
#? [pass]
