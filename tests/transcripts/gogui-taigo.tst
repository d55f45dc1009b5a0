# engine: taigo --gogui
# Taigo under GoGui: dark cell, light cell, holes, pass; undo takes back one click.
gogui-rules_game_id
#? [Taigo]

gogui-rules_board_size
#? [51 hex]

gogui-rules_legal_moves
#? [AA24 AA25 AA27 AA28 AB24 AB25 AB27 AB28 AC24 AC25 AC26 AC27 AD24 AD25 AD26 Y26 Y27 Y28 Z25 Z26 Z27 Z28]

play b A1
#? [\? illegal move: no turn begins with A1]

play b AA27
#? []

gogui-rules_legal_moves
#? [AA28 AB27 Z27 Z28]

play b pass
#? [\? illegal move: AA27 is not a complete turn; the next cell may be AA28 AB27 Z27 Z28]

play b 0,1/0,2
#? [\? illegal move: the turn AA27 is not finished: write pass, or undo]

play b AA28
#? []

showboard
#? [\n        -2   0 1\n ,2     \. \.\(O\)\. 2\n ,1    \. \.\(X\)\. \. 3\n ,0   \. \. X O \. \.\n,-1 -2 \. \. \. \. \.\n,-2  -1 \. \. \. \.\n       0 1 2 3\nX black stone, O white stone\nDark cones left: 5\nLight cones left: 5\nTiles left: 39\nEntered so far: AA27 AA28; pass ends the turn\n1,0 is the cell where slanting line 1 \(lower left to upper right\) crosses row ,0\nBlack to move \(seat 1\)]

gogui-rules_board_gfx
#? [CIRCLE AA27 AA28\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 39, Entered so far: AA27 AA28; pass ends the turn, black to move]

play b pass
#? []

ggp-history
#? [1 black 0,1/0,2]

gogui-play_sequence w AC26 w AC25 w pass b AC27 b AD27 b pass w AD28 w AC29 w pass
#? []

play b AB28
#? []

play b AB29
#? []

gogui-rules_legal_moves
#? [AB27 AC28]

play b AC28
#? []

play b AC28
#? []

play b AB27
#? []

gogui-rules_legal_moves
#? [AB27 pass]

gogui-rules_board_gfx
#? [CIRCLE AB28 AB29 AC28 AB27\nTEXT Dark cones left: 5, Light cones left: 5, Tiles left: 35, Entered so far: AB28 AB29 AC28 AC28 AB27; pass ends the turn, black to move]

play b pass
#? []

ggp-history
#? [1 black 0,1/0,2\n2 white 2,0/2,-1\n1 black 2,1/3,1\n2 white 3,2/2,3\n1 black 1,2/1,3\+d:1,1\+l:2,2]

undo
#? []

undo
#? []

gogui-rules_legal_moves
#? [AB27]

gogui-rules_side_to_move
#? [black]

clear_board
#? []

gogui-rules_legal_moves
#? [AA24 AA25 AA27 AA28 AB24 AB25 AB27 AB28 AC24 AC25 AC26 AC27 AD24 AD25 AD26 Y26 Y27 Y28 Z25 Z26 Z27 Z28]
