/* infer/event.h - what an engine reports: tokens, scores, progress, the end.   floor: engine
 * Data, read by infer_engine_next (infer/engine.h). */
#ifndef INFER_EVENT_H
#define INFER_EVENT_H
#include <stddef.h>
#include <stdint.h>
#include <infer/stats.h>
#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

enum infer_event_kind { INFER_EVENT_TOKEN, INFER_EVENT_SCORE, INFER_EVENT_DONE, INFER_EVENT_READ };
enum infer_finish {
	INFER_FINISH_STOP, /* end of turn, stop string or stop token, or complete constrained text */
	INFER_FINISH_LENGTH, /* max_tokens, or the context is full */
	INFER_FINISH_CANCELLED,
	INFER_FINISH_ERROR
};
struct infer_top {
	int32_t token;
	float logprob;
};
struct infer_event {
	uint64_t id;
	void *user;
	int kind;      /* enum infer_event_kind */
	int32_t index; /* TOKEN: in the answer, from 0; SCORE: in the prompt, from 1; READ: count */
	int32_t token;
	float logprob; /* ln p(token) under the unmodified logits, unless INFER_REQ_AFTER */
	/* [n_top] most likely first; borrowed, like every pointer here, until the next call of
	 * infer_engine_next */
	const struct infer_top *top;
	int32_t n_top;
	/* INFER_REQ_LOGITS: f32 [n_vocab], nats, not normalised, that predict this token; borrowed
	 * until the next step, and NULL in an event read after it */
	const float *logits;
	/* TOKEN, DONE: bytes that are final: no part of a character or of a possible stop string */
	const char *text;
	size_t text_bytes;
	int finish;               /* DONE: enum infer_finish */
	int32_t stop;             /* DONE: index of the stop string that ended it; -1: none */
	int code;                 /* DONE: 0; INFER_ECANCEL for CANCELLED; the code of an ERROR */
	const char *message;      /* DONE: a sentence, or empty */
	struct infer_usage usage; /* TOKEN: so far, without this token; DONE: all */
};

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
