/**
 * Makes "__proto__" a key like any other. google-protobuf keeps a message's map in a plain object, where assigning to
 * that name would replace the object's prototype and lose the property without a word. Without the accessor (as with
 * Node's --disable-proto=delete) the assignment makes an ordinary property. Object.setPrototypeOf and the notation in
 * literals work as before.
 */
delete (Object.prototype as { __proto__?: unknown }).__proto__;
