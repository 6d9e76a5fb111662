/* cudart_stream.cpp - CUDA's runtime for the emulated machine: streams, events, graphs.
 *
 * An event counts its records; a wait or a query compares the last record executed with the one
 * asked for.  A graph is the list of operations that a capture appended. */
#include "cudart.h"

/* ---- streams ---- */
template <class T> static T *new_object(T **list)
{
	T *x = (T *)calloc(1, sizeof *x);

	if (!x)
		abort();
	x->next = *list;
	*list = x;
	return x;
}
template <class T> static int unlink_object(T **list, T *x)
{
	for (; *list; list = &(*list)->next)
		if (*list == x) {
			*list = x->next;
			return 1;
		}
	return 0;
}
template <class T> static int is_live(T *list, T *x)
{
	while (list && list != x)
		list = list->next;
	return list != NULL;
}
static void end_capture(capture *c)
{
	for (cudaStream_t s = rt.streams; s; s = s->next)
		if (s->cap == c)
			s->cap = NULL;
	for (cudaEvent_t e = rt.events; e; e = e->next)
		if (e->cap == c)
			e->cap = NULL;
	unlink_object(&rt.captures, c);
	free_ops(&c->ops);
	free(c);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc) {
		*s = new_object(&rt.streams);
		(*s)->device = current_device;
		(*s)->blocking = !(flags & cudaStreamNonBlocking);
	}
	return finish_call(rc);
}
cudaError_t cudaStreamCreate(cudaStream_t *s)
{
	return cudaStreamCreateWithFlags(s, cudaStreamDefault);
}
cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(0);

	if (!s || !is_live(rt.streams, s))
		return finish_call(rc ? rc : cudaErrorInvalidResourceHandle);
	if (s->cap)
		end_capture(s->cap);
	run_all(s);
	unlink_object(&rt.streams, s);
	for (cudaEvent_t e = rt.events; e; e = e->next)
		e->stream = e->stream == s ? NULL : e->stream;
	free(s);
	return finish_call(rc);
}
/* Returns an error if a capture forbids waiting for the stream. */
static cudaError_t check_wait(cudaStream_t handle)
{
	cudaStream_t s = find_stream(handle);

	if (!s)
		return cudaErrorInvalidResourceHandle;
	if (s->cap) {
		s->cap->invalid = 1;
		return cudaErrorStreamCaptureUnsupported;
	}
	return !handle && break_captures() ? cudaErrorStreamCaptureImplicit : cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	rc = rc ? rc : check_wait(s);
	if (!rc && !s)
		run_device(current_device, 1);
	if (!rc && s)
		run_all(s);
	return finish_call(rc);
}
cudaError_t cudaStreamQuery(cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	cudaStream_t t = find_stream(s);

	rc = rc ? rc : check_wait(s);
	if (!rc && t->ops.first) {
		run_first(t); /* each query makes progress */
		rc = t->ops.first ? cudaErrorNotReady : cudaSuccess;
	}
	return finish_call(rc);
}
/* Within a capture: add the stream to the capture of the event, or join the stream of the event. */
static cudaError_t wait_captured(cudaStream_t s, cudaEvent_t e)
{
	if (s->cap && s->cap->invalid)
		return cudaErrorStreamCaptureInvalidated;
	if (!e->cap) { /* the event is outside of the capture of s */
		s->cap->invalid = 1;
		return cudaErrorStreamCaptureIsolation;
	}
	if (s->cap && s->cap != e->cap) {
		s->cap->invalid = e->cap->invalid = 1;
		return cudaErrorStreamCaptureMerge;
	}
	if (!s->cap) {
		s->cap = e->cap;
		s->cap_added = s->cap_joined = 0;
	}
	if (e->stream && e->stream != s && e->stream->cap_joined < e->cap_at)
		e->stream->cap_joined = e->cap_at;
	s->cap_added++; /* this wait has to be joined too */
	return cudaSuccess;
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t e, unsigned flags)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	cudaStream_t s = find_stream(handle);
	op o = op();

	(void)flags;
	if (!rc && (!s || !is_live(rt.events, e)))
		rc = cudaErrorInvalidResourceHandle;
	if (!rc && (s->cap || e->cap))
		return finish_call(wait_captured(s, e));
	if (!rc && e->version > e->done) {
		o.kind = OP_WAIT;
		o.event = e;
		o.version = e->version;
		rc = submit_op(handle, &o);
	}
	return finish_call(rc);
}
cudaError_t cudaLaunchHostFunc(cudaStream_t s, cudaHostFn_t fn, void *user)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	op o = op();

	o.kind = OP_HOST;
	o.call = fn;
	o.to = user;
	return finish_call(rc ? rc : submit_op(s, &o));
}

/* ---- events ---- */
cudaError_t cudaEventCreateWithFlags(cudaEvent_t *e, unsigned flags)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc) {
		*e = new_object(&rt.events);
		(*e)->refs = 1;
		(*e)->timing = !(flags & cudaEventDisableTiming);
	}
	return finish_call(rc);
}
cudaError_t cudaEventCreate(cudaEvent_t *e)
{
	return cudaEventCreateWithFlags(e, cudaEventDefault);
}
cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t handle)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	cudaStream_t s = find_stream(handle);
	op o = op();

	if (!rc && (!s || !is_live(rt.events, e)))
		rc = cudaErrorInvalidResourceHandle;
	if (rc)
		return finish_call(rc);
	e->stream = s;
	e->cap = s->cap;
	e->cap_at = s->cap_added;
	if (s->cap)
		return finish_call(s->cap->invalid ? cudaErrorStreamCaptureInvalidated
		                                   : cudaSuccess);
	o.kind = OP_RECORD;
	o.event = e;
	o.version = ++e->version;
	return finish_call(submit_op(handle, &o));
}
static cudaError_t check_event(cudaEvent_t e)
{
	if (!is_live(rt.events, e))
		return cudaErrorInvalidResourceHandle;
	if (e->cap) {
		e->cap->invalid = 1;
		return cudaErrorCapturedEvent;
	}
	return cudaSuccess;
}
cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	rc = rc ? rc : check_event(e);
	if (!rc && e->done < e->version)
		run_until(e->stream, e, e->version);
	return finish_call(rc);
}
cudaError_t cudaEventQuery(cudaEvent_t e)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	rc = rc ? rc : check_event(e);
	if (!rc && e->done < e->version && e->stream->ops.first)
		run_first(e->stream);
	if (!rc && e->done < e->version)
		rc = cudaErrorNotReady;
	return finish_call(rc);
}
cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	rc = rc ? rc : check_event(from);
	rc = rc ? rc : check_event(to);
	if (!rc && (!from->timing || !to->timing || !from->version || !to->version))
		rc = cudaErrorInvalidResourceHandle;
	if (!rc && (from->done < from->version || to->done < to->version))
		rc = cudaErrorNotReady;
	if (!rc)
		*ms = (float)((double)(to->at.tv_sec - from->at.tv_sec) * 1e3 +
		              (double)(to->at.tv_nsec - from->at.tv_nsec) * 1e-6);
	return finish_call(rc);
}
cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	guard g;
	cudaError_t rc = begin_call(0);

	if (!e || !unlink_object(&rt.events, e))
		return finish_call(rc ? rc : cudaErrorInvalidResourceHandle);
	release_event(e);
	return finish_call(rc);
}

/* ---- graphs ---- */
cudaError_t cudaStreamBeginCapture(cudaStream_t s, enum cudaStreamCaptureMode mode)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	cudaStream_t t = find_stream(s);

	if (!rc && !s)
		rc = cudaErrorStreamCaptureUnsupported;
	if (!rc && !t)
		rc = cudaErrorInvalidResourceHandle;
	if (!rc && t->cap)
		rc = cudaErrorIllegalState;
	if (!rc) {
		t->cap = new_object(&rt.captures);
		t->cap->origin = s;
		t->cap->mode = mode;
		t->cap->thread = pthread_self();
		t->cap_added = t->cap_joined = 0;
	}
	return finish_call(rc);
}
static cudaError_t check_end(cudaStream_t s)
{
	const capture *c = s->cap;

	if (c->origin != s)
		return cudaErrorStreamCaptureUnmatched;
	if (c->mode != cudaStreamCaptureModeRelaxed && !pthread_equal(c->thread, pthread_self()))
		return cudaErrorStreamCaptureWrongThread;
	if (c->invalid)
		return cudaErrorStreamCaptureInvalidated;
	for (cudaStream_t i = rt.streams; i; i = i->next)
		if (i != s && i->cap == c && i->cap_joined < i->cap_added)
			return cudaErrorStreamCaptureUnjoined;
	return cudaSuccess;
}
/* The capture ends even if the call returns an error. */
cudaError_t cudaStreamEndCapture(cudaStream_t s, cudaGraph_t *graph)
{
	guard g;
	cudaError_t rc = begin_call(0), end;

	*graph = NULL;
	if (!is_live(rt.streams, s) || !s->cap) {
		if (!rc)
			rc = s ? cudaErrorIllegalState : cudaErrorInvalidResourceHandle;
		return finish_call(rc);
	}
	end = check_end(s);
	rc = rc ? rc : end;
	if (!rc) {
		*graph = new_object(&rt.graphs);
		(*graph)->ops = s->cap->ops;
		s->cap->ops = op_list();
	}
	end_capture(s->cap);
	return finish_call(rc);
}
cudaError_t cudaStreamIsCapturing(cudaStream_t handle, enum cudaStreamCaptureStatus *status)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);
	cudaStream_t s = find_stream(handle);

	if (!rc && !s)
		rc = cudaErrorInvalidResourceHandle;
	if (!rc)
		*status = !s->cap           ? cudaStreamCaptureStatusNone
		          : s->cap->invalid ? cudaStreamCaptureStatusInvalidated
		                            : cudaStreamCaptureStatusActive;
	return finish_call(rc);
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t *x, cudaGraph_t graph, unsigned long long flags)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE | UNSAFE);

	(void)flags;
	if (!rc && !is_live(rt.graphs, graph))
		rc = cudaErrorInvalidValue;
	if (!rc) {
		*x = new_object(&rt.execs);
		for (const op *o = graph->ops.first; o; o = o->next)
			add_op(&(*x)->ops, o);
	}
	return finish_call(rc);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t x, cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && (!is_live(rt.execs, x) || !find_stream(s)))
		rc = cudaErrorInvalidValue;
	return finish_call(rc);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t x, cudaStream_t s)
{
	guard g;
	cudaError_t rc = begin_call(NEEDS_DEVICE);

	if (!rc && !is_live(rt.execs, x))
		rc = cudaErrorInvalidValue;
	for (const op *o = rc ? NULL : x->ops.first; o && !rc; o = o->next)
		rc = submit_op(s, o);
	return finish_call(rc);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph)
{
	guard g;
	cudaError_t rc = begin_call(0);

	if (!graph || !unlink_object(&rt.graphs, graph))
		return finish_call(rc ? rc : cudaErrorInvalidValue);
	free_ops(&graph->ops);
	free(graph);
	return finish_call(rc);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t x)
{
	guard g;
	cudaError_t rc = begin_call(0);

	if (!x || !unlink_object(&rt.execs, x))
		return finish_call(rc ? rc : cudaErrorInvalidValue);
	free_ops(&x->ops);
	free(x);
	return finish_call(rc);
}
