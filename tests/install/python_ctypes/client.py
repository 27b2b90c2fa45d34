"""A client that knows the ABI only: structures are bytes at published offsets.

Usage: client.py <library>. Exits with 1 and names what is wrong.
"""

import ctypes
import struct
import sys

DESCRIPTOR_SIZE, ACTIVATION_PARAMS_SIZE, FULLY_CONNECTED_PARAMS_SIZE = 176, 408, 752
VECTOR, ROW_MAJOR, FLOAT32 = 0x10000, 0x20000, 0x10020
RELU, LEAKY_RELU, USE_CLIENT_PTR, ALPHA = 1, 2, 1, 0


def floats(*values):
    return (ctypes.c_float * len(values))(*values)


def descriptor(layout, size, data=None):
    """flags 0, layout 4, size 8, stride 72, data 136, data_type 144 of BNNSNDArrayDescriptor."""
    raw = bytearray(DESCRIPTOR_SIZE)
    struct.pack_into("<I", raw, 4, layout)
    struct.pack_into(f"<{len(size)}Q", raw, 8, *size)
    struct.pack_into("<Q", raw, 136, ctypes.addressof(data) if data is not None else 0)
    struct.pack_into("<I", raw, 144, FLOAT32)
    return bytes(raw)


def activation(function=0, alpha=0.0):
    """function 0, alpha 4 of BNNSActivation, which is 48 bytes."""
    return struct.pack("<If", function, alpha) + bytes(40)


def filter_parameters(flags):
    """flags 0, n_threads 8, alloc_memory 16, free_memory 24 of BNNSFilterParameters."""
    return struct.pack("<I4xQQQ", flags, 1, 0, 0)


def activation_layer(count, function, alpha=0.0):
    """i_desc 0, o_desc 176, activation 352, axis_flags 400 of BNNSLayerParametersActivation."""
    vector = descriptor(VECTOR, [count])
    raw = vector + vector + activation(function, alpha) + bytes(8)
    assert len(raw) == ACTIVATION_PARAMS_SIZE
    return raw


def fully_connected_layer(inputs, outputs, weights, bias):
    """i_desc 0, w_desc 176, o_desc 352, bias 528, activation 704 of ...FullyConnected."""
    raw = (
        descriptor(VECTOR, [inputs])
        + descriptor(ROW_MAJOR, [inputs, outputs], weights)
        + descriptor(VECTOR, [outputs])
        + descriptor(VECTOR, [outputs], bias)
        + activation()
    )
    assert len(raw) == FULLY_CONNECTED_PARAMS_SIZE
    return raw


class DescriptorBytes(ctypes.Structure):
    """What BNNSGetPointer returns by value."""

    _fields_ = [("raw", ctypes.c_uint64 * (DESCRIPTOR_SIZE // 8))]


def load(path):
    library = ctypes.CDLL(path)
    pointer, size, text = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p
    for name in ("BNNSFilterCreateLayerActivation", "BNNSFilterCreateLayerFullyConnected"):
        getattr(library, name).restype = pointer
        getattr(library, name).argtypes = [pointer, pointer]
    library.BNNSFilterApply.argtypes = [pointer] * 3
    library.BNNSFilterApplyBatch.argtypes = [pointer, size, pointer, size, pointer, size]
    library.BNNSFilterApplyBackwardBatch.argtypes = (
        [pointer, size] + [pointer, size] * 4 + [pointer, pointer]
    )
    library.BNNSFilterDestroy.argtypes = [pointer]
    library.BNNSFilterDestroy.restype = None
    library.BNNSGetPointer.argtypes = [pointer, ctypes.c_uint32]
    library.BNNSGetPointer.restype = DescriptorBytes
    library.OpenBNNSGetLastError.restype = text
    return library


class Client:
    def __init__(self, path):
        self.library = load(path)
        self.failures = 0

    def expect(self, what, got, wanted):
        if got != wanted:
            print(f"{what}: got {got}, expected {wanted}; {self.last_error()}")
            self.failures += 1

    def last_error(self):
        return self.library.OpenBNNSGetLastError().decode()

    def relu(self):
        handle = self.library.BNNSFilterCreateLayerActivation(activation_layer(5, RELU), None)
        out = floats(*[9] * 5)
        status = self.library.BNNSFilterApply(handle, floats(-2, -0.5, 0, 0.5, 2), out)
        self.expect("ReLU", (status, list(out)), (0, [0, 0, 0, 0.5, 2]))
        self.library.BNNSFilterDestroy(handle)

    def alpha_through_pointer(self):
        """The descriptor returned by value aliases the filter's alpha."""
        params = activation_layer(2, LEAKY_RELU, 0.25)
        handle = self.library.BNNSFilterCreateLayerActivation(params, None)
        out = floats(0, 0)
        status = self.library.BNNSFilterApply(handle, floats(-4, 2), out)
        self.expect("leaky ReLU", (status, list(out)), (0, [-1, 2]))
        data = self.library.BNNSGetPointer(handle, ALPHA).raw[136 // 8]
        self.expect("BNNSGetPointer has data", data != 0, True)
        if data != 0:
            ctypes.c_float.from_address(data).value = 0.5
            status = self.library.BNNSFilterApply(handle, floats(-4, 2), out)
            self.expect("leaky ReLU, new alpha", (status, list(out)), (0, [-2, 2]))
        self.library.BNNSFilterDestroy(handle)

    def fully_connected_forward(self, handle):
        packed, spread = floats(1, 2, 10, 20), floats(1, 2, 99, 10, 20, 99)
        for data, in_stride, out_stride in ((packed, 2, 1), (packed, 0, 0), (spread, 3, 1)):
            out = floats(0, 0)
            status = self.library.BNNSFilterApplyBatch(handle, 2, data, in_stride, out, out_stride)
            what = f"fully connected, strides {in_stride} and {out_stride}"
            self.expect(what, (status, list(out)), (0, [16, 115]))

    def fully_connected_backward(self, handle):
        dx, dw, db, dy = floats(*[-99] * 4), floats(-99, -99), floats(-99), floats(1, 2)
        status = self.library.BNNSFilterApplyBackwardBatch(
            handle, 2, floats(1, 2, 10, 20), 2,
            descriptor(VECTOR, [2], dx), 2, None, 0, descriptor(VECTOR, [1], dy), 1,
            descriptor(ROW_MAJOR, [2, 1], dw), descriptor(VECTOR, [1], db))  # fmt: skip
        self.expect("backward: status", status, 0)
        self.expect("backward: in_delta", list(dx), [3, 4, 6, 8])
        self.expect("backward: weights_delta", list(dw), [21, 42])
        self.expect("backward: bias_delta", list(db), [3])

    def fully_connected(self):
        weights, bias = floats(3, 4), floats(5)
        params = fully_connected_layer(2, 1, weights, bias)
        for flags in (0, USE_CLIENT_PTR):
            create = self.library.BNNSFilterCreateLayerFullyConnected
            handle = create(params, filter_parameters(flags))
            self.fully_connected_forward(handle)
            self.fully_connected_backward(handle)
            self.library.BNNSFilterDestroy(handle)

    def fully_connected_matrix(self):
        weights, bias = floats(1, 2, 3, 4, 5, 6), floats(0.5, -1)
        params = fully_connected_layer(3, 2, weights, bias)
        handle = self.library.BNNSFilterCreateLayerFullyConnected(params, None)
        for data, wanted in (((1, 1, 1), [6.5, 14]), ((1, 0, -1), [-1.5, -3])):
            out = floats(0, 0)
            status = self.library.BNNSFilterApply(handle, floats(*data), out)
            self.expect(f"2x3 matrix times {data}", (status, list(out)), (0, wanted))
        self.library.BNNSFilterDestroy(handle)

    def refused_call(self):
        """A layer of size 0 gives no filter, and a reason that names function and field."""
        params = activation_layer(0, RELU)
        handle = self.library.BNNSFilterCreateLayerActivation(params, None)
        self.expect("a layer of size 0", handle, None)
        reason = self.last_error()
        for word in ("BNNSFilterCreateLayerActivation", "i_desc", "size"):
            self.expect(f"'{word}' in the reason '{reason}'", word in reason, True)


def main():
    client = Client(sys.argv[1])
    client.relu()
    client.alpha_through_pointer()
    client.fully_connected()
    client.fully_connected_matrix()
    client.refused_call()
    print(f"{client.failures} wrong; the refused call said: {client.last_error()}")
    return 1 if client.failures else 0


if __name__ == "__main__":
    sys.exit(main())
