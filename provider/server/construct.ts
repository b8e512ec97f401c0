import provider from "@pulumi/pulumi/proto/provider_pb.js";
import * as pulumi from "@pulumi/pulumi";
import * as runtimeConfig from "@pulumi/pulumi/runtime/config.js";
import * as rpc from "@pulumi/pulumi/runtime/rpc.js";
import { hookBindingFromProto } from "@pulumi/pulumi/runtime/resource.js";
import * as settings from "@pulumi/pulumi/runtime/settings.js";
import * as localState from "@pulumi/pulumi/runtime/state.js";
import { deserializeInputs } from "@pulumi/pulumi/provider/server.js";
import { Metadata, status as Code } from "@grpc/grpc-js";
import struct from "google-protobuf/google/protobuf/struct_pb.js";
import type { AnyComponent } from "../framework/component.js";

export {};
