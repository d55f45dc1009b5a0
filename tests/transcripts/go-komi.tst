# engine: go size=5 komi=0
1 ggp-hash
=1 bf660cbbf3f2fd5e

2 komi -0
=2

3 ggp-hash
=3 bf660cbbf3f2fd5e

4 komi 6.00000000000000000000000000000000000000001
=4

5 final_score
=5 W+6

6 komi 1e400
=6

7 final_score
=7 W+1000000

8 komi -1e400
=8

9 final_score
=9 B+1000000

10 komi inf
?10 syntax error: write komi NUMBER

11 final_score
=11 B+1000000

12 quit
=12
