/* engine/events.c - queue of events; memory is reserved before a step, so that adding an event cannot
 * fail */
#include "engine/engine.h"
#include "base/err.h"
#include "base/mem.h"

#include <string.h>

enum { TEXT_BYTES = 512 }; /* bytes of text reserved per slot */

int events_init(struct events *q, size_t slots, size_t tops, infer_error *err)
{
	*q = (struct events){ 0 };
	buf_init(&q->text, MEM_ENGINE);
	TRY(events_reserve(q, slots, tops, err));
	if (buf_reserve(&q->text, slots * TEXT_BYTES))
		return err_set(err, INFER_ENOMEM, "no memory for the text of %zu events", slots);
	return INFER_OK;
}

void events_fini(struct events *q)
{
	mem_free(q->slots);
	mem_free(q->tops);
	buf_fini(&q->text);
}

static int grow_array(void **at, size_t *cap, size_t want, size_t size, infer_error *err)
{
	void *p;

	if (want <= *cap)
		return INFER_OK;
	want += *cap / 2;
	p = mem_realloc(MEM_ENGINE, *at, want, size);
	if (!p)
		return err_set(err, INFER_ENOMEM, "no memory for %zu events", want);
	*at = p;
	*cap = want;
	return INFER_OK;
}

int events_reserve(struct events *q, size_t slots, size_t tops, infer_error *err)
{
	void *s = q->slots, *t = q->tops;
	int rc;

	if (q->read == q->n) {
		q->read = q->n = q->n_tops = 0;
		buf_clear(&q->text);
	}
	rc = grow_array(&s, &q->cap, q->n + slots, sizeof *q->slots, err);
	q->slots = s;
	if (rc)
		return rc;
	rc = grow_array(&t, &q->cap_tops, q->n_tops + tops, sizeof *q->tops, err);
	q->tops = t;
	return rc;
}

struct event_slot *events_add(struct events *q, const struct request *r, int kind)
{
	struct event_slot *s;

	must(q->n < q->cap);
	s = &q->slots[q->n++];
	*s = (struct event_slot){ .ev = { .id = r->id, .user = r->user, .kind = kind, .token = -1 },
		                  .text_at = q->text.len,
		                  .step = q->step };
	return s;
}

int infer_engine_next(infer_engine *e, struct infer_event *ev)
{
	struct events *q = &e->events;
	const struct event_slot *s;

	if (q->read == q->n) {
		*ev = (struct infer_event){ 0 };
		return 0;
	}
	s = &q->slots[q->read++];
	*ev = s->ev;
	ev->text = ev->text_bytes ? q->text.at + s->text_at : "";
	ev->top = ev->n_top ? q->tops + s->top_at : NULL;
	ev->logits = s->step == q->step ? ev->logits : NULL;
	ev->message = ev->kind != INFER_EVENT_DONE ? ""
	              : s->message_at != SIZE_MAX  ? q->text.at + s->message_at
	              : ev->code                   ? "no memory to say what failed"
	                                           : "";
	return 1;
}
