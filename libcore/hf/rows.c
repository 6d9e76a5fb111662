/* hf/rows.c - copy tensors of a checkpoint, with GGUF's order of rows and GGUF's types. */
#include "hf/packed.h"
#include "hf/rows.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/mem.h"
#include "base/num.h"
#include "base/os.h"
#include "base/pool.h"
#include "type/type.h"

#include <string.h>
#include <sys/mman.h>

int hf_type_of(int dtype)
{
	switch (dtype) {
	case ST_F32:
		return INFER_F32;
	case ST_F16:
		return INFER_F16;
	case ST_BF16:
	case ST_F8_E4M3:
	case ST_F8_E5M2:
		return INFER_BF16;
	default:
		return -1;
	}
}

int hf_source_type(const struct safetensors_tensor *t)
{
	const struct hf_packed *p = hf_packed_of(t);

	return p ? p->type : hf_type_of(t->dtype);
}

/* Bytes of an element of a type that is not quantised. */
static size_t plain_element_bytes(int type) { return type == INFER_F32 ? 4 : 2; }

size_t hf_rows_row_bytes(const struct hf_rows *h) { return type_row_bytes(h->type, h->cols); }

/* --- values */

/* Decode E4M3: S EEEE MMM, bias 7; all ones is NaN.  Micikevicius+ 2022, arXiv:2209.05433 */
static float decode_e4m3(unsigned x)
{
	int e = (int)(x >> 3 & 15), m = (int)(x & 7);
	float v = e == 15 && m == 7 ? NAN
	          : e               ? num_float((uint32_t)(e + 120) << 23 | (uint32_t)m << 20)
	                            : (float)m * 0x1p-9f;

	return x & 128 ? -v : v;
}

/* Decode E5M2, the upper half of a binary16: S EEEEE MM. */
static float decode_e5m2(unsigned x) { return num_f16((uint16_t)(x << 8)); }

static float read_one(int dtype, const unsigned char *p)
{
	switch (dtype) {
	case ST_F32:
		return num_float(num_u32(p));
	case ST_F16:
		return num_f16(num_u16(p));
	case ST_BF16:
		return num_float((uint32_t)num_u16(p) << 16);
	case ST_F8_E4M3:
		return decode_e4m3(*p);
	default:
		return decode_e5m2(*p);
	}
}

static int is_negated_exp(enum arch_transform how)
{
	return how == T_NEG_EXP || how == T_TILED_NEG_EXP;
}

/* Convert n elements.  `from` may be at the end of the memory of `to`. */
static void convert_elements(const struct hf_rows *h, int dtype, unsigned char *to,
                             const unsigned char *from, int64_t n)
{
	size_t in = safetensors_dtype_bytes(dtype), out = plain_element_bytes(h->type);

	if (h->how != T_PLUS1 && !is_negated_exp(h->how) && in == out) {
		memmove(to, from, (size_t)n * in);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		float x = read_one(dtype, from + (size_t)i * in);
		uint32_t bits;

		if (h->how == T_PLUS1)
			x += 1;
		else if (is_negated_exp(h->how))
			x = (float)-fm_exp((double)x);
		bits = num_bits(x);
		if (out == 2) /* exact: source values have at most 8 significant bits */
			bits >>= 16;
		memcpy(to + (size_t)i * out, &bits, out);
	}
}

/* --- positions */

int64_t hf_rows_untile(const struct hf_heads *h, int64_t r, int64_t dv)
{
	int64_t head = r / dv, k = head % h->k_heads, v = head / h->k_heads;

	return (k * h->each + v) * dv + r % dv;
}

/* Return the source row of row r.  The source has q, k, v and z for each k head.  z 0, T_BY_HEAD:
 * the result is all q, all k, all v; z 1, T_BY_HEAD_Z: all z. */
static int64_t row_by_head(const struct hf_heads *h, int64_t r, int z)
{
	int64_t dv = h->each * h->dv, all = 2 * (h->dk + dv), qk = h->k_heads * h->dk;

	if (z)
		return r / dv * all + 2 * h->dk + dv + r % dv;
	if (r < 2 * qk)
		return r % qk / h->dk * all + (r < qk ? 0 : h->dk) + r % h->dk;
	r -= 2 * qk;
	return r / dv * all + 2 * h->dk + r % dv;
}

int64_t hf_rows_source(const struct hf_rows *h, int64_t r)
{
	const struct hf_heads *e = &h->heads;
	int64_t qk = 2 * e->k_heads * e->dk, d = e->rows, i;

	switch (h->how) {
	case T_PAIRS:
		i = r % d;
		return r / d * d + i % 2 * (d / 2) + i / 2;
	case T_BY_HEAD:
	case T_BY_HEAD_Z:
		return row_by_head(e, r, h->how == T_BY_HEAD_Z);
	case T_TILED:
	case T_TILED_NEG_EXP:
		return hf_rows_untile(e, r, h->rows / (e->k_heads * e->each));
	case T_TILED_V:
		return r < qk ? r : qk + hf_rows_untile(e, r - qk, e->dv);
	default:
		return h->first + h->step * r;
	}
}

int hf_rows_permutes(enum arch_transform how)
{
	return how == T_PAIRS || how == T_BY_HEAD || how == T_BY_HEAD_Z || how == T_TILED ||
	       how == T_TILED_NEG_EXP || how == T_TILED_V || how == T_TILED_COLS;
}

const unsigned char *hf_rows_matrix(const struct hf_rows *h, int64_t i)
{
	const struct safetensors_tensor *s = h->from[h->n_from > 1 ? i : 0];
	size_t size = safetensors_dtype_bytes(s->dtype);
	int64_t row = h->first + (h->n_from > 1 ? 0 : i * h->src_rows);
	const unsigned char *at = s->data + (size_t)(row * h->src_cols) * size;

	if (s->packed || h->turned || h->step != 1 || hf_rows_permutes(h->how) || h->zeros ||
	    h->how == T_PLUS1 || is_negated_exp(h->how) || size != plain_element_bytes(h->type) ||
	    (uintptr_t)at % size)
		return NULL;
	return at;
}

const unsigned char *hf_rows_in_place(const struct hf_rows *h)
{
	return h->n_from > 1 || (h->mats > 1 && h->rows != h->src_rows) ? NULL
	                                                                : hf_rows_matrix(h, 0);
}

/* --- copying */

struct piece {
	struct hf_rows *h;
	const unsigned char *from; /* a matrix of the source */
	int dtype;
	int64_t row, n; /* rows row ... row + n - 1 of a result matrix */
	unsigned char *to;
};

/* Copy columns to rows: gather a row at the end of its memory, then convert in place. */
static void copy_turned(const struct piece *p)
{
	const struct hf_rows *h = p->h;
	size_t in = safetensors_dtype_bytes(p->dtype),
	       row = (size_t)h->cols * plain_element_bytes(h->type),
	       tail = row - (size_t)h->cols * in;

	for (int64_t c = 0; c < h->cols; c++)
		for (int64_t r = 0; r < p->n; r++)
			memcpy(p->to + (size_t)r * row + tail + (size_t)c * in,
			       p->from + (size_t)(c * h->src_cols + hf_rows_source(h, p->row + r)) *
			                         in,
			       in);
	for (int64_t r = 0; r < p->n; r++)
		convert_elements(h, p->dtype, p->to + (size_t)r * row,
		                 p->to + (size_t)r * row + tail, h->cols);
}

static void copy_columns(const struct piece *p)
{
	const struct hf_rows *h = p->h;
	size_t in = safetensors_dtype_bytes(p->dtype), out = plain_element_bytes(h->type);

	for (int64_t r = 0; r < p->n; r++)
		for (int64_t c = 0; c < h->cols; c++) {
			int64_t from = (p->row + r) * h->src_cols +
			               hf_rows_untile(&h->heads, c, h->heads.dv);
			convert_elements(h, p->dtype, p->to + (size_t)(r * h->cols + c) * out,
			                 p->from + (size_t)from * in, 1);
		}
}

static void copy_source_rows(const struct piece *p)
{
	const struct hf_rows *h = p->h;
	size_t in = safetensors_dtype_bytes(p->dtype),
	       row = (size_t)h->cols * plain_element_bytes(h->type);
	int64_t real = h->rows - h->zeros;

	for (int64_t r = 0; r < p->n; r++)
		if (p->row + r < real)
			convert_elements(
				h, p->dtype, p->to + (size_t)r * row,
				p->from +
					(size_t)(hf_rows_source(h, p->row + r) * h->src_cols) * in,
				h->cols);
		else
			memset(p->to + (size_t)r * row, 0, row);
}

/* PIECE: bytes of a piece of work.  MANY: total bytes from which threads are used.  TILE: a piece
 * has a multiple of TILE rows. */
enum { PIECE = 256 << 10, MANY = 4 << 20, THREADS = 8, TILE = 64 };

/* Return the rows of a piece: a multiple of a head's rows, so that source rows are contiguous.  A
 * turned quantised matrix is one piece, so that each source row is decoded once. */
static int64_t rows_per_piece(const struct hf_rows *h)
{
	int64_t n = PIECE / (int64_t)hf_rows_row_bytes(h), least = h->how == T_PAIRS ? h->heads.rows
	                                                           : n >= TILE       ? TILE
	                                                                             : 1;

	if (h->turned && hf_packed_of(h->from[0]))
		return h->rows;
	n -= n % least;
	return n < least ? least : n < h->rows ? n : h->rows;
}

static int64_t count_pieces(const struct hf_rows *h)
{
	int64_t n = rows_per_piece(h);

	return h->mats * ((h->rows + n - 1) / n);
}

struct work {
	struct hf_rows *const *h;
	int64_t n;
	const struct infer_watch *watch;
	uint64_t bytes; /* bytes of all results */
	_Atomic uint64_t done;
	size_t scratch_bytes; /* scratch of each worker */
	unsigned char *scratch;
};

/* Return the tensor that piece i belongs to. */
static struct hf_rows *find_tensor(const struct work *w, int64_t i)
{
	int64_t low = 0, high = w->n - 1;

	while (low < high) {
		int64_t mid = (low + high) / 2;
		if (i < w->h[mid]->end)
			high = mid;
		else
			low = mid + 1;
	}
	return w->h[low];
}

/* Unmap the pages of a range of the file, because its copy is in memory. */
static void drop_pages(const unsigned char *at, size_t bytes)
{
	uintptr_t page = os_page(), from = (uintptr_t)at / page * page,
		  to = ((uintptr_t)at + bytes + page - 1) / page * page;

	(void)madvise((void *)from, to - from, MADV_DONTNEED);
}

/* Unmap the stored tensors of a quantised weight. */
static void drop_parts(const struct hf_packed *p)
{
	for (int i = 0; i < PACKED_PARTS; i++)
		if (p->part[i])
			drop_pages(p->part[i]->data, p->part[i]->bytes);
}

static void drop_source(const struct piece *p)
{
	struct hf_rows *h = p->h;
	size_t in = safetensors_dtype_bytes(p->dtype);
	int64_t left = atomic_fetch_sub(&h->left, 1) - 1;

	if (p->dtype == ST_PACKED) {
		for (int64_t i = 0; i < h->n_from && !left; i++)
			drop_parts(hf_packed_of(h->from[i]));
		return;
	}
	if (!h->turned && h->step == 1 && (!hf_rows_permutes(h->how) || h->how == T_PAIRS))
		drop_pages(p->from + (size_t)((h->first + p->row) * h->src_cols) * in,
		           (size_t)(p->n * h->src_cols) * in);
	else if (!left)
		for (int64_t i = 0; i < h->n_from; i++)
			drop_pages(h->from[i]->data, h->from[i]->bytes);
}

static void make_piece(void *user, int64_t i, int worker)
{
	struct work *w = user;
	struct hf_rows *h = find_tensor(user, i);
	int64_t n = rows_per_piece(h), all = count_pieces(h), each = all / h->mats,
		left = i - (h->end - all), mat = left / each;
	const struct safetensors_tensor *s = h->from[h->n_from > 1 ? mat : 0];
	struct piece p = { .h = h, .dtype = s->dtype, .row = left % each * n };
	size_t in = safetensors_dtype_bytes(s->dtype), row = hf_rows_row_bytes(h);

	p.from = s->data + (h->n_from > 1 ? 0 : (size_t)(mat * h->src_rows * h->src_cols) * in);
	p.n = num_min(n, h->rows - p.row);
	p.to = h->to + (size_t)(mat * h->rows + p.row) * row;
	if (s->dtype == ST_PACKED)
		hf_rows_packed(h, mat, p.row, p.n, p.to,
		               w->scratch + (size_t)worker * w->scratch_bytes);
	else if (h->turned)
		copy_turned(&p);
	else if (h->how == T_TILED_COLS)
		copy_columns(&p);
	else
		copy_source_rows(&p);
	drop_source(&p);
	uint64_t done = atomic_fetch_add(&w->done, (uint64_t)p.n * row) + (uint64_t)p.n * row;
	if (!worker && done < w->bytes)
		file_tell(w->watch, done, w->bytes);
}

/* Count the pieces and the bytes, and the scratch that a worker needs. */
static int64_t count_work(struct work *w)
{
	int64_t pieces = 0;

	for (int64_t i = 0; i < w->n; i++) {
		struct hf_rows *h = w->h[i];
		size_t scratch = hf_rows_packed_scratch(h, rows_per_piece(h));
		atomic_init(&h->left, count_pieces(h));
		h->end = pieces += count_pieces(h);
		w->bytes += (uint64_t)(h->rows * h->mats) * hf_rows_row_bytes(h);
		if (scratch > w->scratch_bytes)
			w->scratch_bytes = scratch;
	}
	w->scratch_bytes = num_round_up(w->scratch_bytes, 64);
	return pieces;
}

int hf_rows_make(struct hf_rows *const *h, int64_t n, const struct infer_watch *watch,
                 infer_error *err)
{
	struct work w = { .h = h, .n = n, .watch = watch };
	struct os_limits l;
	struct pool *pool = NULL;
	int64_t pieces = count_work(&w);

	os_limits(&l);
	if (w.bytes >= MANY && l.threads > 1 &&
	    pool_new(&pool, l.threads < THREADS ? l.threads : THREADS, NULL))
		pool = NULL;
	if (w.scratch_bytes) {
		w.scratch =
			mem_alloc(MEM_FILE, pool ? (size_t)pool_threads(pool) : 1, w.scratch_bytes);
		if (!w.scratch) {
			pool_free(pool);
			return err_set(err, INFER_ENOMEM, "no memory to repack weights");
		}
	}
	if (pieces)
		file_tell(w.watch, 0, w.bytes);
	for (int64_t i = 0; !pool && i < pieces; i++)
		make_piece(&w, i, 0);
	if (pool)
		pool_run(pool, pieces, make_piece, &w);
	if (pieces)
		file_tell(w.watch, w.bytes, w.bytes);
	pool_free(pool);
	mem_free(w.scratch);
	return INFER_OK;
}
