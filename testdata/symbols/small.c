struct account { long number, balance; const char *owner_of_the_account; };

static inline __attribute__((always_inline)) long interest(struct account *of, int rate)
{
    long more = of->balance * rate / 100;
    if (more < 0)
        more = -more;
    return more + of->number % 7;
}

__attribute__((noinline)) long yearly(struct account *all, int count)
{
    long sum = 0;
    for (int at = 0; at < count; at++)
        sum += interest(&all[at], 3);
    return sum;
}

void _start(void)
{
    struct account few[2] = {{1, 100, 0}, {2, -200, 0}};
    volatile long result = yearly(few, 2);
    (void)result;
    for (;;) {}
}
