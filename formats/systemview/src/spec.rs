//! Events of the target's protocol: their numbers, names and parameters.

/// Name in the text at the start of a recording.
pub(crate) const SIGNATURE: &[u8] = b"SEGGER SystemView";

/// The text at the start is not longer than this.
pub(crate) const HEADER_MAX: usize = 4096;

/// The zeros before the first packet, which the host finds it by.
pub(crate) const SYNC_BYTES: usize = 10;

/// Events from this number on say how long they are.
pub(crate) const SIZED: u32 = 24;

pub(crate) const ISR_ENTER: u32 = 2;
pub(crate) const ISR_EXIT: u32 = 3;
pub(crate) const TASK_START_EXEC: u32 = 4;
pub(crate) const TASK_STOP_EXEC: u32 = 5;
pub(crate) const TASK_START_READY: u32 = 6;
pub(crate) const TASK_STOP_READY: u32 = 7;
pub(crate) const TASK_INFO: u32 = 9;
pub(crate) const SYSDESC: u32 = 14;
pub(crate) const IDLE: u32 = 17;
pub(crate) const ISR_TO_SCHEDULER: u32 = 18;
pub(crate) const NOP: u32 = 0;
pub(crate) const TRACE_START: u32 = 10;
pub(crate) const OVERFLOW: u32 = 1;
pub(crate) const INIT: u32 = 24;
pub(crate) const MODULEDESC: u32 = 22;
pub(crate) const PRINT_FORMATTED: u32 = 26;

/// Kind of a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// A number.
    Number(&'static str),
    /// A text with its length before it.
    Text(&'static str),
}

use Parameter::{Number, Text};

/// The name of an event and its parameters, where the protocol knows them.
pub(crate) fn event(id: u32) -> Option<(&'static str, &'static [Parameter])> {
    Some(match id {
        NOP => ("NOP", &[]),
        OVERFLOW => ("OVERFLOW", &[Number("count")]),
        ISR_ENTER => ("ISR_ENTER", &[Number("irq_num")]),
        ISR_EXIT => ("ISR_EXIT", &[]),
        TASK_START_EXEC => ("TASK_START_EXEC", &[Number("tid")]),
        TASK_STOP_EXEC => ("TASK_STOP_EXEC", &[]),
        TASK_START_READY => ("TASK_START_READY", &[Number("tid")]),
        TASK_STOP_READY => ("TASK_STOP_READY", &[Number("tid"), Number("cause")]),
        8 => ("TASK_CREATE", &[Number("tid")]),
        TASK_INFO => ("TASK_INFO", &[Number("tid"), Number("prio"), Text("name")]),
        TRACE_START => ("TRACE_START", &[]),
        11 => ("TRACE_STOP", &[]),
        12 => ("SYSTIME_CYCLES", &[Number("cycles")]),
        13 => ("SYSTIME_US", &[Number("time_low"), Number("time_high")]),
        SYSDESC => ("SYSDESC", &[Text("desc")]),
        15 => ("USER_START", &[Number("user_id")]),
        16 => ("USER_STOP", &[Number("user_id")]),
        IDLE => ("IDLE", &[]),
        ISR_TO_SCHEDULER => ("ISR_TO_SCHEDULER", &[]),
        19 => ("TIMER_ENTER", &[Number("timer_id")]),
        20 => ("TIMER_EXIT", &[]),
        21 => ("STACK_INFO", &[Number("tid"), Number("base"), Number("sz"), Number("unused")]),
        MODULEDESC => ("MODULEDESC", &[Number("mod_id"), Number("evt_off"), Text("desc")]),
        23 => ("DATA_SAMPLE", &[Number("data_id"), Number("value")]),
        INIT => (
            "INIT",
            &[Number("sys_freq"), Number("cpu_freq"), Number("ram_base"), Number("id_shift")],
        ),
        25 => ("NAME_RESOURCE", &[Number("id"), Text("name")]),
        PRINT_FORMATTED => ("PRINT_FORMATTED", &[Text("msg"), Number("lvl"), Number("unused")]),
        27 => ("NUMMODULES", &[Number("mod_cnt")]),
        _ => return None,
    })
}

/// Name that a target with `FreeRTOS` gives its system.
pub(crate) const FREERTOS_NAME: &str = "FreeRTOS";

/// Events of `FreeRTOS`, which are calls of its functions: number, name and parameters.
pub(crate) const FREERTOS: &[(u32, &str, &str)] = &[
    (33, "vTaskDelete", "xTaskToDelete"),
    (34, "vTaskDelay", "xTicksToDelay"),
    (35, "vTaskDelayUntil", ""),
    (36, "vTaskSuspend", "xTaskToSuspend"),
    (37, "ulTaskNotifyTake", "xClearCountOnExit xTicksToWait"),
    (38, "vTaskNotifyGiveFromISR", "xTaskToNotify pxHigherPriorityTaskWoken"),
    (39, "vTaskPriorityInherit", "pxMutexHolder"),
    (40, "vTaskResume", "xTaskToResume"),
    (41, "vTaskStepTick", "xTicksToJump"),
    (42, "xTaskPriorityDisinherit", "pxMutexHolder"),
    (43, "xTaskResumeFromISR", "xTaskToResume"),
    (44, "xTaskGenericNotify", "xTaskToNotify ulValue eAction pulPreviousNotificationValue"),
    (
        45,
        "xTaskGenericNotifyFromISR",
        "xTaskToNotify ulValue eAction pulPreviousNotificationValue pxHigherPriorityTaskWoken",
    ),
    (
        46,
        "xTaskNotifyWait",
        "ulBitsToClearOnEntry ulBitsToClearOnExit pulNotificationValue xTicksToWait",
    ),
    (47, "xQueueGenericCreate", "uxQueueLength uxItemSize ucQueueType"),
    (48, "vQueueDelete", "xQueue"),
    (49, "xQueueGenericReceive", "xQueue pvBuffer xTicksToWait xJustPeek"),
    (50, "xQueuePeekFromISR", "xQueue pvBuffer"),
    (51, "xQueueReceiveFromISR", "xQueue pvBuffer pxHigherPriorityTaskWoken"),
    (52, "vQueueAddToRegistry", "xQueue pcName"),
    (53, "xQueueGenericSend", "xQueue pvItemToQueue xTicksToWait xCopyPosition"),
    (
        54,
        "xQueueGenericSendFromISR",
        "xQueue pvItemToQueue pxHigherPriorityTaskWoken xCopyPosition",
    ),
    (55, "vTaskPrioritySet", "xTask uxNewPriority"),
    (56, "uxTaskPriorityGetFromISR", "xTask"),
    (57, "xTaskGetTickCountFromISR", ""),
    (58, "xEventGroupClearBitsFromISR", "xEventGroup uxBitsToSet"),
    (59, "xEventGroupSetBitsFromISR", "xEventGroup uxBitsToSet pxHigherPriorityTaskWoken"),
    (60, "xEventGroupGetBitsFromISR", "xEventGroup"),
    (61, "xQueueGiveFromISR", "xQueue pxHigherPriorityTaskWoken"),
    (62, "xQueueIsQueueEmptyFromISR", "xQueue"),
    (63, "xQueueIsQueueFullFromISR", "xQueue"),
];

/// Description that the module of ESP-IDF that records memory gives of itself; it does not name its
/// events.
pub(crate) const HEAP_MODULE: &str = "M=ESP32 SystemView Heap Tracing Module";

/// Its events.
pub(crate) const HEAP_TRACING: [(&str, &str); 2] = [
    ("esp_sysview_heap_trace_alloc", "addr size callers"),
    ("esp_sysview_heap_trace_free", "addr callers"),
];
