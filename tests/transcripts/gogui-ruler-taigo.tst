# engine: taigo tiles=3 --gogui
# What GoGui 1.6.0 itself sends to a ruler while a person plays a whole game: it replays the game after each move.
# Questions that it repeats in the same position are left out.
list_commands
#? [(.+\n)*gogui-rules_legal_moves(\n.+)*]
gogui-rules_game_id
#? [Taigo]
gogui-rules_board_size
#? [51 hex]
gogui-rules_board_gfx
#? [TEXT Dark cones left: 5, Light cones left: 5, Tiles left: 2, black to move]
clear_board
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
clear_board
#? []
gogui-rules_side_to_move
#? [black]
clear_board
#? []
gogui-rules_legal_moves
#? [AA24 AA25 AA27 AA28 AB24 AB25 AB27 AB28 AC24 AC25 AC26 AC27 AD24 AD25 AD26 Y26 Y27 Y28 Z25 Z26 Z27 Z28]
gogui-rules_board_gfx
#? [TEXT Dark cones left: 5, Light cones left: 5, Tiles left: 2, black to move]
gogui-rules_game_id
#? [Taigo]
clear_board
#? []
play B AA27
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B AA27
#? []
gogui-rules_board_gfx
#? [CIRCLE AA27\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 2, Entered so far: AA27; pass ends the turn, black to move]
gogui-rules_legal_moves
#? [AA28 AB27 Z27 Z28]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
gogui-rules_board_gfx
#? [CIRCLE AA27 Z27\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 2, Entered so far: AA27 Z27; pass ends the turn, black to move]
gogui-rules_legal_moves
#? [pass]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
gogui-rules_board_gfx
#? [CIRCLE AA27 Z27\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 1, white to move]
gogui-rules_legal_moves
#? [AA24 AA25 AA28 AA29 AB24 AB25 AB27 AB28 AC24 AC25 AC26 AC27 AD24 AD25 AD26 X27 X28 X29 Y26 Y27 Y28 Y29 Z25 Z26 Z28 Z29]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
play W AA29
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
play W AA29
#? []
gogui-rules_board_gfx
#? [CIRCLE AA29\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 1, Entered so far: AA29; pass ends the turn, white to move]
gogui-rules_legal_moves
#? [AA28]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
play W AA29
#? []
play W AA28
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [white]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
play W AA29
#? []
play W AA28
#? []
gogui-rules_board_gfx
#? [CIRCLE AA29 AA28\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 1, Entered so far: AA29 AA28; pass ends the turn, white to move]
gogui-rules_legal_moves
#? [pass]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
play W AA29
#? []
play W AA28
#? []
play W PASS
#? []
gogui-rules_board
#? [([.?XO]{51}\n){50}[.?XO]{51}]
gogui-rules_board_size
#? [51 hex]
gogui-rules_captured_count
#? [0 0]
gogui-rules_side_to_move
#? [black]
clear_board
#? []
play B AA27
#? []
play B Z27
#? []
play B PASS
#? []
play W AA29
#? []
play W AA28
#? []
play W PASS
#? []
gogui-rules_board_gfx
#? [CIRCLE AA29 AA28\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 0, Game over: 0]
gogui-rules_legal_moves
#? []
