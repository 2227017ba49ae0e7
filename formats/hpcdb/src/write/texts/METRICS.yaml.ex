# How metrics are shown: an example, and what each key means. It is YAML 1.2.
# default.yaml beside this file has the same keys.

# The version of these keys. A reader refuses one that it does not know.
version: 0

# The statistics of meta.db that formulas below use. Each is anchored, and used by its alias.
inputs:
  - &time-inclusive
    metric: CPUTIME (sec)     # the name of the metric
    scope: execution          # the name of the propagation scope
    formula: $$               # what is done to each thread's value; $$ when left out
    combine: sum              # sum, min or max; sum when left out
  - &time-exclusive
    metric: CPUTIME (sec)
    scope: function
  - &time-exclusive-loops
    metric: CPUTIME (sec)
    scope: lex_aware
  - &threads-inclusive
    metric: CPUTIME (sec)
    scope: execution
    formula: 1                # so that the sum is the number of threads

# The metrics, in the order they are shown.
roots:
  - name: Time                            # what it is called
    description: Time on a processor, in seconds. Waiting is not in it.
    short description: Time on a processor  # the first sentence of the description when left out
    visible by default: true              # true when left out
    presentation: column                  # only of roots: columns beside the tree
    # Each variant is one way to look at the metric.
    variants:
      Sum:
        # How its values are shown: one of, or a list of number, percent (of the value of the
        # whole program), colorbar (how children share it) and hidden.
        render: [number, percent]
        # As printf of C prints a double; %.2e when left out.
        format: "%.3f"
        # first (what the first child has), sum (what the children come to), or as here.
        formula:
          inclusive:
            # For trees whose nodes are contexts of the program. Null when left out.
            standard: *time-inclusive
          exclusive:
            standard: *time-exclusive
            # For anything else; as standard when left out.
            custom: *time-exclusive-loops
      Mean:
        render: number
        formula:
          # A formula is an alias, a number, or a map from an operator or a function to its
          # arguments: + - * / ^ sum prod pow sqrt log ln min max floor ceil. Texts with
          # operators and sequences, which are parentheses, are formulas too:
          #   [*time-inclusive, " / ", *threads-inclusive]
          # Where an argument has no value, the result has none.
          inclusive: {/: [*time-inclusive, *threads-inclusive]}
    # Metrics below this one.
    children:
      - name: Half of it
        variants:
          Sum:
            render: number
            # Which variant of each child `first` and `sum` use; of its own name when left out.
            child variant: Sum
            formula:
              inclusive: {"*": [0.5, *time-inclusive]}
              exclusive: {"*": [0.5, *time-exclusive]}
