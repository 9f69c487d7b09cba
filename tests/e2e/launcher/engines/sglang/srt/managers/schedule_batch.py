import copy
import enum

from stubs import VERSION, drop_what_is_lacking


class ForwardMode(enum.IntEnum):
    EXTEND = 1
    DECODE = 2
    MIXED = 3
    IDLE = 4

    def is_extend(self):
        return self in (ForwardMode.EXTEND, ForwardMode.MIXED)

    def is_decode(self):
        return self == ForwardMode.DECODE

    def is_mixed(self):
        return self == ForwardMode.MIXED

    def is_idle(self):
        return self == ForwardMode.IDLE


class FINISH_LENGTH:
    pass


class FINISH_ABORT:
    pass


class Req:
    def __init__(self, rid, origin_input_ids, max_new_tokens):
        self.rid, self.origin_input_ids, self.output_ids = rid, origin_input_ids, []
        self.max_new_tokens, self.finished_reason, self.is_retracted, self.to_abort = max_new_tokens, None, False, False
        self.computed = 0
        setattr(self, "is_chunked" if VERSION < (0, 5, 13) else "inflight_middle_chunks", 0)

    def finished(self):
        return self.finished_reason is not None

    def reset_for_retract(self):
        self.is_retracted, self.computed = True, 0


class ScheduleBatch:
    def __init__(self, forward_mode, reqs, extend_lens=None, prefix_lens=None, decoding_reqs=None, chunked_req=None):
        self.forward_mode, self.reqs, self.extend_lens, self.prefix_lens = forward_mode, reqs, extend_lens, prefix_lens
        self.decoding_reqs, self.chunked_req = decoding_reqs, chunked_req

    def copy(self):
        return copy.copy(self)


drop_what_is_lacking(globals())
