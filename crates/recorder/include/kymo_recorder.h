/* Records what a program does into files of the Ruler Trace Container (RTC).
 *
 * Made from src/ffi/mod.rs: change it there.
 *
 * Streams, clocks and annotations are numbers from 1 on. Functions that return an int return 0, or
 * -1 when they failed; kymo_error then says why. Texts are UTF-8 and end with a NUL. A recorder may
 * be used from many threads, until kymo_finish. After an error of the system, such as a full disk,
 * the file is readable up to there, and everything else fails.
 */
#ifndef KYMO_RECORDER_H
#define KYMO_RECORDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes are brought to the disk when the system likes. */
#define KYMO_SYNC_NEVER 0

/* Bytes are brought to the disk at the end of every file. */
#define KYMO_SYNC_FINISH 1

/* Bytes are brought to the disk with every flush. */
#define KYMO_SYNC_FLUSH 2

/* A delta clock counts in thousandths of a second. */
#define KYMO_MILLISECONDS 3

/* A delta clock counts in millionths of a second. */
#define KYMO_MICROSECONDS 6

/* A delta clock counts in billionths of a second. */
#define KYMO_NANOSECONDS 9

/* The checksum of a Unit is CRC32-IEEE, as the specification has it. */
#define KYMO_CRC_IEEE 0

/* The checksum of a Unit is the one of the format's first writer. */
#define KYMO_CRC_MIXED 1

/* Units have no checksum. */
#define KYMO_CRC_NONE 2

/* The stream is one run of bytes without borders between messages, such as standard output. */
#define KYMO_CONT 1

/* The stream is left out of indices: for what nobody searches by time. */
#define KYMO_HIDDEN 2

/* Configuration of a recorder. Zeros are the defaults: kymo_config config = {0}; */
typedef struct kymo_config {
    /* Size of a Unit and of a unit: powers of two, the unit at least 2048. 0: 1 MiB and 128 KiB. */
    uint64_t major_bytes;
    /* See major_bytes. */
    uint64_t minor_bytes;
    /* Flush whenever so many bytes came together; 1 is after every message. 0: when a buffer is
     * full. */
    uint64_t flush_bytes;
    /* Flush what has waited for so many milliseconds, also when no message comes: a thread sees to
     * that. Instead of flush_bytes. */
    uint64_t flush_milliseconds;
    /* Go on in another file (run.1.rtc, run.2.rtc ...) when one has so many bytes. 0: one file. */
    uint64_t rotate_after_bytes;
    /* So many bytes at most are collected in memory before they are handed to the system. 0: 256
     * KiB, or a Unit if that is less. */
    uint64_t buffer_bytes;
    /* One of KYMO_SYNC_NEVER, KYMO_SYNC_FINISH and KYMO_SYNC_FLUSH. */
    uint32_t sync;
    /* One of KYMO_CRC_IEEE, KYMO_CRC_MIXED and KYMO_CRC_NONE. */
    uint32_t crc;
} kymo_config;

/* A recording in progress. */
typedef struct kymo_recorder kymo_recorder;

/* Records to a new file; one that exists is emptied. config may be NULL. NULL when it failed. */
kymo_recorder *kymo_create(const char *path, const kymo_config *config);

/* Records to the end of a file, as a new session; one that does not exist is made. It does not
 * matter whether the file was cut short. config may be NULL. NULL when it failed. */
kymo_recorder *kymo_append(const char *path, const kymo_config *config);

/* Ends the recording and frees the recorder, whether it succeeds or not: 0, or -1. */
int kymo_finish(kymo_recorder *recorder);

/* Hands everything so far to the system, so that it survives the end of the program: 0, or -1. */
int kymo_flush(kymo_recorder *recorder);

/* Adds a clock of seconds and nanoseconds since the Epoch. Its number, or -1. */
int32_t kymo_clock(kymo_recorder *recorder, const char *name);

/* Adds a clock that counts ticks of gain seconds; offset_seconds is what 0 ticks are since the
 * Epoch, or 0 if that is not known. Its number, or -1. */
int32_t kymo_counter_clock(kymo_recorder *recorder, const char *name, double gain, double offset_seconds);

/* Adds a clock that is set by small steps from another, which is then set only once in a while.
 * On a clock of seconds it counts in KYMO_MILLISECONDS, KYMO_MICROSECONDS or KYMO_NANOSECONDS, on
 * a counter in its ticks. Its number, or -1. */
int32_t kymo_delta_clock(kymo_recorder *recorder, const char *name, int32_t base, uint32_t resolution);

/* Sets a clock of seconds, or a delta on one; what is recorded next on it happened then: 0, or
 * -1. A clock must not go back. */
int kymo_set_clock(kymo_recorder *recorder, int32_t clock, uint64_t seconds, uint32_t nanoseconds);

/* Sets a counter, or a delta on one: 0, or -1. It must not wrap around. */
int kymo_set_counter(kymo_recorder *recorder, int32_t clock, uint64_t ticks);

/* Adds a stream. format is one that every reader knows ("uint16le", "float64", "utf-8", "json",
 * "raw" ...) or any other name. length is the bytes of every message, or 0 if they differ. clock
 * is the number of a clock, or 0. flags is 0, KYMO_CONT, KYMO_HIDDEN or both. attributes is a
 * JSON object of further attributes, such as {"gain":0.01,"unit":"V"}, or NULL. Its number, or -1. */
int32_t kymo_stream(kymo_recorder *recorder, const char *name, const char *format, uint64_t length, int32_t clock, uint32_t flags, const char *attributes);

/* Ends a stream, which then costs nothing any more: 0, or -1. */
int kymo_close_stream(kymo_recorder *recorder, int32_t stream);

/* Records a message, at the last time of the stream's clock: 0, or -1. An empty one vanishes. */
int kymo_write(kymo_recorder *recorder, int32_t stream, const void *data, size_t length);

/* Sets the stream's clock, which counts seconds, and records a message: 0, or -1. */
int kymo_write_at(kymo_recorder *recorder, int32_t stream, uint64_t seconds, uint32_t nanoseconds, const void *data, size_t length);

/* Sets the stream's clock, which is a counter, and records a message: 0, or -1. */
int kymo_write_at_ticks(kymo_recorder *recorder, int32_t stream, uint64_t ticks, const void *data, size_t length);

/* Sets the stream's clock, which counts seconds, to the present, and records a message: 0, or -1. */
int kymo_write_now(kymo_recorder *recorder, int32_t stream, const void *data, size_t length);

/* Adds a stream of remarks on points in time, in a format as for kymo_stream. stream is the name
 * of the stream that is remarked on, or NULL for the time as such. Its number, or -1. */
int32_t kymo_annotations(kymo_recorder *recorder, const char *name, const char *format, const char *stream);

/* Remarks something on a point in time, which may be long past: 0, or -1. */
int kymo_annotate(kymo_recorder *recorder, int32_t annotations, uint64_t seconds, uint32_t nanoseconds, const void *data, size_t length);

/* Returns the reason why the last call that failed in this thread did so: text that stays until
 * the next one fails. */
const char *kymo_error(void);

#ifdef __cplusplus
}
#endif

#endif
