# one_hot() with a string, a list or a function as the position raised an error of R's arithmetic.
refuses(one_hot("a", 3)) && refuses(one_hot(list(), 3)) && refuses(one_hot(sum, 3))
