//! The few messages of Perfetto's trace format that are written, with its field numbers
//! (`protos/perfetto/trace` in Perfetto's sources).

use prost::Message;

/// What comes before each packet in a file: field 1 of `Trace`, a message.
pub(super) const PACKET: u8 = 1 << 3 | 2;

/// A whole file.
#[cfg(test)]
#[derive(Clone, PartialEq, Message)]
pub(super) struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub(super) packets: Vec<TracePacket>,
}

/// `TracePacket`. The descriptors, events and states are alternatives: at most one is set.
#[derive(Clone, PartialEq, Message)]
pub(super) struct TracePacket {
    /// Nanoseconds.
    #[prost(uint64, optional, tag = "8")]
    pub(super) timestamp: Option<u64>,
    /// `trusted_packet_sequence_id`
    #[prost(uint32, optional, tag = "10")]
    pub(super) sequence: Option<u32>,
    #[prost(message, optional, tag = "11")]
    pub(super) track_event: Option<TrackEvent>,
    #[prost(message, optional, tag = "12")]
    pub(super) interned_data: Option<InternedData>,
    #[prost(uint32, optional, tag = "13")]
    pub(super) sequence_flags: Option<u32>,
    #[prost(message, optional, tag = "60")]
    pub(super) track_descriptor: Option<TrackDescriptor>,
    /// `generic_kernel_task_state_event`
    #[prost(message, optional, tag = "117")]
    pub(super) task_state: Option<TaskStateEvent>,
}

/// `TrackDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackDescriptor {
    #[prost(uint64, required, tag = "1")]
    pub(super) uuid: u64,
    #[prost(string, optional, tag = "2")]
    pub(super) name: Option<String>,
    #[prost(message, optional, tag = "3")]
    pub(super) process: Option<ProcessDescriptor>,
    #[prost(message, optional, tag = "4")]
    pub(super) thread: Option<ThreadDescriptor>,
    #[prost(uint64, optional, tag = "5")]
    pub(super) parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub(super) counter: Option<CounterDescriptor>,
    #[prost(int32, optional, tag = "11")]
    pub(super) child_ordering: Option<i32>,
    #[prost(int32, optional, tag = "12")]
    pub(super) sibling_order_rank: Option<i32>,
}

/// `ProcessDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct ProcessDescriptor {
    #[prost(int32, required, tag = "1")]
    pub(super) pid: i32,
    #[prost(string, required, tag = "6")]
    pub(super) process_name: String,
}

/// `ThreadDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct ThreadDescriptor {
    #[prost(int32, required, tag = "1")]
    pub(super) pid: i32,
    #[prost(int32, required, tag = "2")]
    pub(super) tid: i32,
    #[prost(string, required, tag = "5")]
    pub(super) thread_name: String,
}

/// `CounterDescriptor`
#[derive(Clone, PartialEq, Message)]
pub(super) struct CounterDescriptor {
    #[prost(string, repeated, tag = "2")]
    pub(super) categories: Vec<String>,
    #[prost(int32, required, tag = "3")]
    pub(super) unit: i32,
    #[prost(string, optional, tag = "6")]
    pub(super) unit_name: Option<String>,
}

impl CounterDescriptor {
    /// A counter of `category` in `unit`.
    pub(super) fn of(category: &str, unit: i32) -> Self {
        CounterDescriptor {
            categories: vec![category.to_owned()],
            unit,
            unit_name: None,
        }
    }
}

/// `InternedData`
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedData {
    #[prost(message, repeated, tag = "1")]
    pub(super) event_categories: Vec<InternedName>,
    #[prost(message, repeated, tag = "2")]
    pub(super) event_names: Vec<InternedName>,
    /// `debug_annotation_names`
    #[prost(message, repeated, tag = "3")]
    pub(super) annotation_names: Vec<InternedName>,
    /// `debug_annotation_string_values`
    #[prost(message, repeated, tag = "29")]
    pub(super) annotation_values: Vec<InternedName>,
}

/// `EventCategory`, `EventName`, `DebugAnnotationName` and `InternedString`, which are alike.
#[derive(Clone, PartialEq, Message)]
pub(super) struct InternedName {
    /// `iid`
    #[prost(uint64, required, tag = "1")]
    pub(super) number: u64,
    #[prost(string, required, tag = "2")]
    pub(super) name: String,
}

/// `TrackEvent`. Names are numbers of [`InternedData`].
#[derive(Clone, PartialEq, Message)]
pub(super) struct TrackEvent {
    /// `category_iids`
    #[prost(uint64, repeated, packed = "false", tag = "3")]
    pub(super) categories: Vec<u64>,
    #[prost(message, repeated, tag = "4")]
    pub(super) annotations: Vec<DebugAnnotation>,
    #[prost(int32, required, tag = "9")]
    pub(super) r#type: i32,
    /// `extra_counter_values`, of `extra_counter_track_uuids`
    #[prost(int64, repeated, packed = "false", tag = "12")]
    pub(super) counter_values: Vec<i64>,
    /// `name_iid`
    #[prost(uint64, optional, tag = "10")]
    pub(super) name: Option<u64>,
    /// `track_uuid`
    #[prost(uint64, required, tag = "11")]
    pub(super) track: u64,
    #[prost(int64, optional, tag = "30")]
    pub(super) counter_value: Option<i64>,
    /// `extra_counter_track_uuids`
    #[prost(uint64, repeated, packed = "false", tag = "31")]
    pub(super) counter_tracks: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "47")]
    pub(super) flow_ids: Vec<u64>,
    #[prost(fixed64, repeated, packed = "false", tag = "48")]
    pub(super) terminating_flow_ids: Vec<u64>,
}

/// `DebugAnnotation`: one of the three values.
#[derive(Clone, PartialEq, Message)]
pub(super) struct DebugAnnotation {
    /// `name_iid`
    #[prost(uint64, required, tag = "1")]
    pub(super) name: u64,
    #[prost(int64, optional, tag = "4")]
    pub(super) int_value: Option<i64>,
    #[prost(string, optional, tag = "6")]
    pub(super) string_value: Option<String>,
    /// `string_value_iid`
    #[prost(uint64, optional, tag = "17")]
    pub(super) string_number: Option<u64>,
}

/// `GenericKernelTaskStateEvent`
#[derive(Clone, PartialEq, Message)]
pub(super) struct TaskStateEvent {
    #[prost(int32, required, tag = "1")]
    pub(super) cpu: i32,
    #[prost(string, required, tag = "2")]
    pub(super) comm: String,
    #[prost(int64, required, tag = "3")]
    pub(super) tid: i64,
    #[prost(int32, required, tag = "4")]
    pub(super) state: i32,
}

/// `GenericKernelTaskStateEvent.TaskStateEnum`, as far as used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum TaskState {
    Runnable = 2,
    Running = 3,
    InterruptibleSleep = 4,
    Stopped = 6,
}
