# bot: random seed=2 --gogui taugo size=6
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
#? [6]
gogui-rules_game_id
#? [Taugo]
name
#? [random]
protocol_version
#? [2]
gogui-rules_board_size
#? [6]
gogui-analyze_commands
#? [gfx/Marks and status/gogui-rules_board_gfx\nstring/Score/final_score\nstring/Side to move/gogui-rules_side_to_move\nstring/Result/gogui-rules_final_result]
boardsize 6
#? []
clear_board
#? []
komi 6.5
#? []
gogui-rules_board_size
#? [6]
gogui-rules_game_id
#? [Taugo]
play B D5
#? []
play B PASS
#? []
genmove w
#? [B3]
genmove w
#? [pass]
play B D2
#? []
undo
#? []
undo
#? []
undo
#? []
genmove w
#? [B4]
genmove w
#? [pass]
play B C2
#? []
play B PASS
#? []
genmove w
#? [B3]
genmove w
#? [B2]
genmove w
#? [pass]
play B E2
#? []
play B PASS
#? []
genmove w
#? [C4]
genmove w
#? [D4]
genmove w
#? [pass]
play B PASS
#? []
genmove w
#? [D2]
genmove w
#? [pass]
play B B5
#? []
play B PASS
#? []
genmove w
#? [pass]
play B E3
#? []
play B E4
#? []
play B E5
#? []
play B PASS
#? []
genmove w
#? [E4]
genmove w
#? [F4]
genmove w
#? [pass]
play B C3
#? []
play B C4
#? []
play B C5
#? []
play B PASS
#? []
genmove w
#? [D5]
genmove w
#? [D6]
genmove w
#? [pass]
play B D3
#? []
play B PASS
#? []
genmove w
#? [pass]
play B PASS
#? []
