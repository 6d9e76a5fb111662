/* api/events.c - answers as server-sent events: one event is one line of data and an empty line */
#include "api/api.h"
#include "base/err.h"

struct jwrite *event_begin(infer_writer *w, const char *name)
{
	if (name) {
		buf_puts(&w->text, "event: ");
		buf_puts(&w->text, name);
		buf_putc(&w->text, '\n');
	}
	buf_puts(&w->text, "data: ");
	jw_init(&w->w, &w->text);
	jw_object(&w->w, NULL);
	return &w->w;
}

void event_end(infer_writer *w)
{
	/* JSON has its line ends escaped; a raw newline would end the event */
	jw_end(&w->w);
	buf_puts(&w->text, "\n\n");
}

static int check_writer(const infer_writer *w, infer_error *err)
{
	return w->text.bad ? err_nomem(err) : INFER_OK;
}

static void put_stream_end(infer_writer *w, const struct infer_api *f)
{
	if (!f->end)
		return;
	buf_puts(&w->text, "data: ");
	buf_puts(&w->text, f->end);
	buf_puts(&w->text, "\n\n");
}

int infer_api_put_events(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                         struct infer_stream *s, infer_error *err)
{
	const struct infer_api *f = api_of(a->job);

	if (!d) {
		put_stream_end(w, f);
	} else if (f->put_events) {
		f->put_events(w, a, d, s);
	} else {
		f->put_delta(event_begin(w, NULL), a, d);
		event_end(w);
	}
	return check_writer(w, err);
}

int infer_api_put_fault_events(infer_writer *w, const infer_api *f, const struct infer_fault *fault,
                               const char *request_id, struct infer_stream *s, infer_error *err)
{
	if (f->put_fault_event) {
		f->put_fault_event(w, fault, request_id, s);
	} else {
		f->put_error(event_begin(w, NULL), fault);
		event_end(w);
	}
	put_stream_end(w, f);
	return check_writer(w, err);
}
