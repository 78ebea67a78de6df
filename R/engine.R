# The interface between the engine (formulas, linear systems, factors, sets of points) and the Gaussian-process layer,
# which consists of the files gp_*, predict_*, draws_*, search_*, lik_*, vario_*, cov_* and data_*.
#
# The engine calls no function of the layer. The layer calls only the following functions of the engine; each line says
# what the function guarantees to the layer. tools/lint compares the lists with the code.
#
# Formulas
#   keops_kernel             a function that evaluates a formula
#   keops_grad               the function that evaluates its gradient
#   keops_ops                the table of operations
#   recent_operator          like keops_kernel(), without checks of arguments; the last operators are cached
#
# Linear systems by products with a matrix
#   kernel_system            K + lambda I for the matrix K of an operator, with its diagonal, entries and vector space
#   kernel_solve             the solution of such a system, with its settings and checks
#   solve_system             the solution for several right-hand sides, with convergence and residuals
#   system_preconditioner    a preconditioner of one type
#   best_preconditioner      the type with the lowest expected cost
#   remembered_graph         neighbours for preconditioners, kept for all systems of a search
#   probe_vectors            random vectors with the covariance of a preconditioner
#   lanczos_logdet           log-determinants, from the solves for probe vectors
#   logdet_interval          intervals that contain the log-determinants
#   preconditioning          the product with the inverse of a preconditioner
#   resident_points          points on the device where an operator computes
#
# Dense and sparse factors
#   dense_factor             a matrix filled by a formula and factored in place
#   dense_device             the device for a dense matrix of n rows
#   dense_backend            a backend that can factorise dense matrices
#   sparse_pattern           memory for sparse precisions with given neighbours
#   sparse_posterior         the precision matrix of a sparse field given observations
#
# Small sets of points (a point and its neighbours)
#   hold_sets                points, noise, values and neighbours, stored in C++ or on a GPU
#   set_totals               sums over sets as one vector: log-determinant, products of whitened values, information
#   set_moments              the named parts of a vector of set_totals(), or of a sum of these vectors
#   set_weights              the conditional distribution of each point given its neighbours
#   set_weights_at           the conditional distribution of other points given their neighbours
#   factored_rows            weights like those of set_weights(), with derivatives; also for the residual of a low-rank
#                            approximation
#   set_slopes               derivatives of weights and standard deviations
#   sparse_multiply          U x, U' x, U^-1 x, U'^-1 x for the sparse U with the weights of set_weights()
#   row_sparse               a matrix with few entries for each point, and products of this matrix with U
#   held_responses           many responses at the same points: the optimum of each response, and products at one theta
#   neighbour_means          weighted sums over neighbours, and the transposed operation
#   factors_inner            inner products of vectors with the derivatives of weights
#   joint_parts              joint distributions of some new points given base points: values, draws, variances, sums
#   joint_functions          the functions of a joint distribution
#
# Orderings and distances
#   vecchia_order            a permutation of points
#   ordered_neighbours       the nearest earlier points of each point
#   nearest_points           the nearest points of a query
#   search_tree              a tree for several queries
#   correlation_scales       the scale of each coordinate, computed from values of a kernel

# Functions that serve both sides of the interface: conditions, checks, progress, settings, text.
#   stop_kernops             a classed error with the call of the user
#   refuse_arguments         an error if a call has arguments that the method does not have
#   stop_further_arguments   an error about unknown arguments in the dots of a method
#   check_choice             one of some strings
#   check_flag               TRUE or FALSE
#   check_number             one number within limits
#   check_numbers            a numeric vector or matrix
#   check_text               one string, or several
#   check_seed               a seed, or NULL
#   size_text                a number of bytes in words
#   check_memory             an error if a number of bytes cannot be allocated
#   check_backend            a backend that can be used here
#   check_precision          "float64" or "float32"
#   may_use_gpu              TRUE if a backend may be a GPU
#   usable_backend           the backend of a fit, or the CPU if the GPU of the fit is missing
#   threads                  the number of threads
#   available_cores          the number of cores that this process may use
#   sharing_cores            code in one of several processes, with its share of the threads
#   shown                    a short text of a value
#   similar_name             the known name that a mistyped name resembles
#   readable_text            text that can be printed in every locale
#   code_text                paste0() that keeps numbers exact
#   vector_text              numbers as a vector of a formula
#   replace_names            a formula with other names
#   tweedie_sums             the sums in Tweedie's density, over the number of gamma variables
#   first_numbers            numbers of keys in order of appearance
#   level_key                keys that are equal where values are equal
#   exact_digits             keys of level_key() for numbers, which do not depend on the class
#   value_labels             labels that are equal where values are equal
#   with_bar                 code with a progress bar
#   with_trees               code in which search_tree() and recalled() remember their last results
#   recalled                 a result that depends on a key alone
#   column_ranges            the least and the greatest number of each column
#   column_extents           the extent of each column
#   column_sizes             the largest absolute value of each column
#   columns_with_gaps        columns with an entry that is not finite
#   chosen_columns           columns with given numbers, without a copy of all columns
#   moved_columns            columns, shifted and scaled
#   gathered_rows            rows with given numbers
#   orthonormal_columns      the orthonormal columns of a decomposition by qr()
#   first_rows               the first row with the values of each row
#   spaced_rows              the numbers of evenly spaced rows
#   say_progress             moves the progress bar by a step
#   part_of_bar              code whose steps move the bar from one fraction to another
#   with_seed                code with separate random numbers
#   derived_seed             a seed whose random numbers differ from those of set.seed()
#   with_derived_seed        code with random numbers that differ from those of set.seed()
#   random_signs             a matrix of signs
#   normal_numbers           a matrix of normal numbers
#   remembered               a function that caches its results, one for each value of its arguments
NULL
