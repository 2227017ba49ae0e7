/* Records a temperature, a log and a remark: see kymo_recorder.h.
 *
 *     cargo build --release -p kymo-recorder
 *     cc -I crates/recorder/include crates/recorder/examples/recorder.c \
 *         target/release/libkymo_recorder.a -lpthread -ldl -lm -o recorder
 *     ./recorder run.rtc && kymo dump run.rtc
 */
#include <kymo_recorder.h>

#include <stdio.h>
#include <string.h>

static int failed(const char *what)
{
    fprintf(stderr, "%s: %s\n", what, kymo_error());
    return 1;
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s FILE\n", argv[0]);
        return 2;
    }

    /* Everything that is older than 100 ms survives a crash. */
    kymo_config config = {0};
    config.flush_milliseconds = 100;
    kymo_recorder *recorder = kymo_create(argv[1], &config);
    if (!recorder)
        return failed(argv[1]);

    /* Samples are dated by steps of microseconds from an absolute clock. */
    int32_t clk = kymo_clock(recorder, "clk");
    int32_t delta = kymo_delta_clock(recorder, "clk delta", clk, KYMO_MICROSECONDS);
    int32_t temperature = kymo_stream(recorder, "temperature", "int16", sizeof(int16_t), delta, 0,
                                      "{\"gain\":0.01,\"unit\":\"°C\"}");
    int32_t text = kymo_stream(recorder, "log", "utf-8", 0, delta, 0, NULL);
    /* What a program prints has no borders between messages, and need not be found by time. */
    int32_t output = kymo_stream(recorder, "stdout", "utf-8", 0, 0, KYMO_CONT | KYMO_HIDDEN, NULL);
    int32_t remarks = kymo_annotations(recorder, "remarks", "utf-8", "temperature");
    if (clk < 0 || delta < 0 || temperature < 0 || text < 0 || output < 0 || remarks < 0)
        return failed("streams");

    const char *hello = "warming up";
    if (kymo_write_at(recorder, text, 1700000000, 0, hello, strlen(hello)))
        return failed("log");
    for (int i = 0; i < 1000; i++) {
        int16_t value = (int16_t)(2000 + i);
        if (kymo_write_at(recorder, temperature, 1700000000, 1000u * (uint32_t)i, &value,
                          sizeof value))
            return failed("temperature");
    }
    if (kymo_write(recorder, output, "2000\n20", 7) || kymo_write(recorder, output, "01\n", 3))
        return failed("output");
    if (kymo_close_stream(recorder, output))
        return failed("close");

    const char *remark = "the door was open";
    if (kymo_annotate(recorder, remarks, 1700000000, 500000, remark, strlen(remark)))
        return failed("remarks");

    /* A mistake is told, and the recording goes on. */
    if (kymo_write(recorder, temperature, "x", 1) == 0)
        return failed("a temperature of one byte was taken");
    printf("refused: %s\n", kymo_error());

    return kymo_finish(recorder) ? failed("finish") : 0;
}
