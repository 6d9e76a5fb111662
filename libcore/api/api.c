/* api/api.c - the list of API formats, and writing in them */
#include "api/api.h"
#include "base/err.h"

#include <string.h>

static const struct infer_api *const formats[] = {
#define API(x) &api_##x,
#include "api/api_list.h"
#undef API
};
enum { FORMATS = sizeof formats / sizeof *formats };

const struct infer_api *api_of(const infer_job *j) { return j->api ? j->api : &api_own; }

const infer_api *infer_api_at(const char *path)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i]->path && !strcmp(formats[i]->path, path))
			return formats[i];
	return NULL;
}

const infer_api *infer_api_named(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i]->name, name))
			return formats[i];
	return NULL;
}

const char *infer_api_name(const infer_api *f) { return f->name; }

const char *infer_api_stream_type(const infer_api *f)
{
	return f->flags & API_LINES ? "application/x-ndjson" : "text/event-stream";
}

/* ---- a writer ---- */

int infer_writer_new(infer_writer **out, infer_error *err)
{
	infer_writer *w = mem_zalloc(MEM_JOB, 1, sizeof *w);

	*out = w;
	if (!w)
		return err_nomem(err);
	buf_init(&w->text, MEM_JOB);
	return INFER_OK;
}

void infer_writer_free(infer_writer *w)
{
	if (w)
		buf_fini(&w->text);
	mem_free(w);
}

struct infer_str infer_writer_text(const infer_writer *w)
{
	return (struct infer_str){ w->text.at ? w->text.at : "", w->text.len };
}

void infer_writer_clear(infer_writer *w) { buf_clear(&w->text); }

struct infer_str infer_model_called(const infer_model *m)
{
	const char *path = infer_file_path(infer_model_file(m)),
		   *slash = path ? strrchr(path, '/') : NULL;
	struct infer_model_info info;

	infer_model_info(m, &info);
	if (info.name.len)
		return info.name;
	path = slash ? slash + 1 : path ? path : "";
	return (struct infer_str){ path, strlen(path) };
}

static struct jwrite *begin_object(infer_writer *w)
{
	jw_init(&w->w, &w->text);
	jw_object(&w->w, NULL);
	return &w->w;
}

static int end_object(infer_writer *w, infer_error *err)
{
	jw_end(&w->w);
	return w->text.bad ? err_nomem(err) : INFER_OK;
}

int infer_api_put(infer_writer *w, const struct infer_answer *a, infer_error *err)
{
	const struct infer_api *f = api_of(a->job);

	if (f->put_list && (f->flags & API_LISTS ? a->job->n > 1 : a->job->as_list)) {
		jw_init(&w->w, &w->text);
		f->put_list(&w->w, a);
		return w->text.bad ? err_nomem(err) : INFER_OK;
	}
	f->put(begin_object(w), &(struct api_answer){ .a = a });
	return end_object(w, err);
}

int infer_api_put_delta(infer_writer *w, const struct infer_answer *a, const struct infer_delta *d,
                        infer_error *err)
{
	must(api_of(a->job)->put_delta); /* formats without it have put_events */
	api_of(a->job)->put_delta(begin_object(w), a, d);
	return end_object(w, err);
}

int infer_api_put_fault(infer_writer *w, const infer_api *f, const struct infer_fault *fault,
                        infer_error *err)
{
	f->put_error(begin_object(w), fault);
	return end_object(w, err);
}
