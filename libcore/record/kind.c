/* record/kind.c - the kinds of records, and how a record begins and ends. */
#include <infer/record.h>
#include "base/jwrite.h"

#include <assert.h>

static const struct infer_record_kind kinds[] = {
#define KIND(value, name, programs, about) [INFER_KIND_##value] = { name, programs, about },
#include "record/kind_list.h"
#undef KIND
};
static_assert(sizeof kinds / sizeof *kinds == INFER_KIND_COUNT,
              "kind_list.h and enum infer_kind agree");

const struct infer_record_kind *infer_record_kind(int kind)
{
	return kind >= 0 && kind < INFER_KIND_COUNT ? &kinds[kind] : NULL;
}

void infer_record_open(struct jwrite *w, struct buf *to, enum infer_kind kind, uint32_t flags)
{
	jw_init(w, to);
	jw_object(w, NULL);
	if (flags & INFER_RECORD_FIRST)
		jw_int(w, "v", 1);
	jw_str(w, "kind", kinds[kind].name);
}

void infer_record_close(struct jwrite *w)
{
	jw_end(w);
	jw_line(w);
}
